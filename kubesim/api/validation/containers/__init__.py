"""Validation of a pod's containers: environment, handlers, resources, security."""
