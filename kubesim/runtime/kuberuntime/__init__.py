"""The runtime manager. `decide` computes what a pod needs, `act` makes the CRI calls for it."""
