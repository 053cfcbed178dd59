"""Loads a scenario from files: YAML with line numbers, manifests, kubelet configuration."""
