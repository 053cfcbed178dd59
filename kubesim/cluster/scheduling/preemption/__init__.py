"""Preemption: which pods must go so that a more important one fits."""
