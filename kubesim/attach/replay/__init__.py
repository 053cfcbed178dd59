"""Recordings of a node: written while it is followed, and played back in virtual time as if they were the cluster."""
