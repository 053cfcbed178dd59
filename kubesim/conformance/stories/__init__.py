"""Stories: recordings of a real node's API server, replayed by a simulated node."""
