"""Controllers of nodes: health, taints, eviction by taint."""
