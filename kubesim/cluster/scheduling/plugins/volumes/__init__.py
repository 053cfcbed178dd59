"""Plugins for a pod's claims and volumes."""
