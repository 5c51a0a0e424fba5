"""Data in memory: lists, arrays, columns and data frames; and collections of dask."""
