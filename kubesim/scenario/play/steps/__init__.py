"""Steps: those on a node, and those that wait for a condition."""
