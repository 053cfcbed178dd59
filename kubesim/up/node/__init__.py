"""`kubesim node`: nodes of an existing API server, with simulated containers."""
