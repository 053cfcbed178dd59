"""`kubesim up` and `kubesim node`: clusters and nodes for real clients."""
