"""The questions people ask (compare, drift, gate) and the answers they get."""
