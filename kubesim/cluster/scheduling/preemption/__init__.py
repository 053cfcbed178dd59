"""Preemption: which pods to delete so that a pod of higher priority fits."""
