"""Requests that are answered without storing an object (reviews, tokens), and the scale of a workload."""
