"""Kinds that are served in two versions and stored in one."""
