"""The life of each pod as bands."""
