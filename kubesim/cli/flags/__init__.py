"""Flags shared by several commands."""
