"""Invariants of sandboxes, containers and probes: judged by what the runtime of a node does."""
