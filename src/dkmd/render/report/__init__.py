"""The page: one HTML file that opens offline."""
