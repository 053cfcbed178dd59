"""Saved runs: the trace, every change of an object, and the state of the cluster at any time."""
