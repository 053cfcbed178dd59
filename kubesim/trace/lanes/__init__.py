"""The history of each pod as bands in lanes, for pictures of a run."""
