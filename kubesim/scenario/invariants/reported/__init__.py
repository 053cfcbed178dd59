"""Invariants of the statuses that the kubelet reports and the objects that the API server stores."""
