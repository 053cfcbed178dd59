"""Saved runs: the trace and every change of an object, and the state of the cluster at any moment of it."""
