"""Sandboxes, directories and cgroups of runs that have ended: what is left of them, and its removal."""
