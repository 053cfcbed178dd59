"""Desired and actual state of volumes, and the reconciler."""
