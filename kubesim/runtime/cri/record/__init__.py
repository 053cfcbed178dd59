"""Recordings of CRI calls: a proxy between a kubelet and a runtime, and the comparison of two recordings."""
