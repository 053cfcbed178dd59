"""Validation of a pod's volumes, their sources and their mounts."""
