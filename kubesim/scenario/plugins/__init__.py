"""Plugins that run beside the kubelet of a node: device plugins."""
