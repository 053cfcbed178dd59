"""`kubesim get`, `describe`, `logs` and `events`: the cluster at a given time of a run, in kubectl's format."""
