"""`kubesim node`: nodes of somebody else's API server, with simulated containers."""
