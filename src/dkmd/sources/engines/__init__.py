"""Tables that stay in a database or on a cluster."""
