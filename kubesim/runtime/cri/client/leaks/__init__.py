"""Sandboxes, directories and cgroups of runs that have ended: their remains, and the removal."""
