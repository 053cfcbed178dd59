"""Plugins that compare a pod with a node: name, taints, labels, ports, resources, images."""
