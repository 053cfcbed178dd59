"""Pods, Nodes and Events: their fields, defaults, quantities and validation."""
