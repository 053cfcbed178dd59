"""Requests that are answered without being stored: reviews and tokens; and the scale of a workload."""
