"""Plugins about a pod's claims and volumes."""
