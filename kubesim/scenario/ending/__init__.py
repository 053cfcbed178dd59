"""Decides when a run is idle, and reports the final state of its pods and workloads."""
