"""Flags that several commands share."""
