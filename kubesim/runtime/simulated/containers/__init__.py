"""Processes of simulated containers: a command line in the shell, or a scripted behaviour."""
