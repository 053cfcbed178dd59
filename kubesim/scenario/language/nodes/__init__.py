"""Nodes in the scenario language: their files and profiles, their machine, their devices."""
