"""Which values belong together, how much each counts, and what is known beside them."""
