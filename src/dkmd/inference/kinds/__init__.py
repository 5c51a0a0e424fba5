"""What is compared besides the shift: shares, categories, percentiles, spread, segments."""
