"""Tables of a database or a Spark cluster, compared there: only samples and sums come back."""
