"""Samples as counts and sums per bin: the grid, the Summary, its file, its logarithms."""
