"""Devices for resource claims: free devices of a node, and their allocation."""
