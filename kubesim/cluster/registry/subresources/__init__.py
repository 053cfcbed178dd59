"""Subresources that are more than another view of the object: binding and eviction of pods."""
