"""Runs a scenario: the player, its cluster and nodes, and the expectations."""
