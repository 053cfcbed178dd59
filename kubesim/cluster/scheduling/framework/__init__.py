"""The scheduling framework: plugins, the snapshot of nodes, and the scheduling cycle of a pod."""
