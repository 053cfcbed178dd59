"""`kubesim node`: simulated nodes at an existing API server."""
