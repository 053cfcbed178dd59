"""Invariants of what the kubelet reports and the API server stores."""
