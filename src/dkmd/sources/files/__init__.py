"""Files: what a path names, and how each format is read."""
