"""The runtime manager: `decide` computes the actions for a pod, `act` makes the CRI calls."""
