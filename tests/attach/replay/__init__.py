"""Recordings of a node: writing and replaying them."""
