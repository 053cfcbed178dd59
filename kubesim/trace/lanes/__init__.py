"""What a trace shows of each pod over time: bands in lanes, for pictures of a run."""
