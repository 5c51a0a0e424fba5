"""Data of any kind as the two sides of a comparison."""
