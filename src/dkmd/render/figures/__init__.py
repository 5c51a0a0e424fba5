"""The points of every curve, and the SVG that draws them."""
