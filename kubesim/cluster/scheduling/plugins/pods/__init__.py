"""Plugins that compare a pod with the pods that have a node already."""
