"""The page: one HTML file with everything in it, from any answer of the package."""
