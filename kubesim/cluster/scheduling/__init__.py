"""Matching pods to nodes by affinity, taints, resources and ports, for the scheduler and the kubelet."""
