"""Subresources that are more than a view of the object: binding and eviction of pods."""
