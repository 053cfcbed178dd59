"""Values that are drawn from the seed, and those that differ between the runs of a matrix."""
