"""Recordings of a node: written while kubesim follows it, and replayed in virtual time in place of the cluster."""
