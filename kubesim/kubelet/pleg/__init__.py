"""The pod lifecycle event generator (PLEG): relists the runtime and compares."""
