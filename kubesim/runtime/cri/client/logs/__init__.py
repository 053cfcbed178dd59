"""Logs of real containers: their format, their files, and following them."""
