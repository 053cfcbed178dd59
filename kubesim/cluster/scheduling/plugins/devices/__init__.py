"""Devices for resource claims: which are free on a node, and which a claim gets."""
