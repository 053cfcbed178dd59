"""The pod lifecycle event generator: relists the runtime and compares."""
