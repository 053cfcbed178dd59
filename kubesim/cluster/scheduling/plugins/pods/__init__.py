"""Plugins that match a pod against the pods on nodes."""
