"""Pictures of a comparison: the points of its curves, one palette, and small inline SVG."""
