"""The private node: the underlay process, a node's holder, its client, and the confinement of plugins."""
