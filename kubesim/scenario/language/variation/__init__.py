"""Values that are drawn from the seed, and values that differ between the runs of a matrix."""
