"""The plugins of the default profile."""
