"""The client of a container runtime behind CRI: `CriRuntime` and what a node with real containers has on its disk."""
