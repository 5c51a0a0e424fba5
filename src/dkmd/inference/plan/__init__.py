"""How many values a comparison needs."""
