"""Several columns at once: one vector-valued witness for all directions together."""
