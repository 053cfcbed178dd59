"""Images on the node: garbage collection and pull secrets."""
