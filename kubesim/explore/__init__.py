"""Explore: runs a scenario with faults at the points of its trace, and searches for violations of rules."""
