"""Functions of a pod: its kind, phase, conditions, sidecars, resources, and its defaults."""
