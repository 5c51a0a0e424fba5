"""Any number of looks: two arms, pairs, and one stream against a reference (docs/watch.md)."""
