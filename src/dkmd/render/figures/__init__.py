"""The points of every curve, and their drawings."""
