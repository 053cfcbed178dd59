"""Explore: runs a scenario with faults at the points of its trace, and looks for what no fault may cause."""
