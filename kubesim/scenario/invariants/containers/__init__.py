"""Invariants of sandboxes, containers and probes, checked at the runtime of each node."""
