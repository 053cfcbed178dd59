"""Plugins that match a pod against a node: name, taints, labels, ports, resources, images."""
