"""Assembles a scenario from several files, and makes its variants for a matrix."""
