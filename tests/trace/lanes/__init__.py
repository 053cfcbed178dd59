"""The lifecycle of each pod as bands."""
