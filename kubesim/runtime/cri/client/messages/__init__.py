"""Configurations of sandboxes and containers as messages of CRI."""
