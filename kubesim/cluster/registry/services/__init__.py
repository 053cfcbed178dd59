"""Allocation of cluster IPs and node ports for Services."""
