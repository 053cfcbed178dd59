"""`kubesim get`, `describe`, `logs` and `events`: the cluster at a moment of a run, as kubectl would show it."""
