"""Data files: which files a path names, and how each format is read."""
