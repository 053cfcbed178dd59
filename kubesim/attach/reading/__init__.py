"""Reads pods, Events and nodes from a cluster or from the output of kubectl."""
