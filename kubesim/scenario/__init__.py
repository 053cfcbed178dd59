"""Scenarios: the language, its loader, and the player."""
