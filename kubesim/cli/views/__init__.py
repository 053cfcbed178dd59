"""`kubesim get`, `describe`, `logs` and `events`: the cluster at a given time of a run, as kubectl would show it."""
