"""Lists, arrays, columns, frames and dask collections."""
