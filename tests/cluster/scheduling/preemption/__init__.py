"""Preemption: victims and node."""
