"""What commands print: progress, the result of a run, networks."""
