"""From two samples to a decision: centre, statistic, p-value, intervals, margins, plans."""
