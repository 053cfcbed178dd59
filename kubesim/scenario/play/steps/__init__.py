"""Steps on a node, and steps that wait for a condition."""
