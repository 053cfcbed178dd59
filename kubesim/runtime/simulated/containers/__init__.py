"""The processes of simulated containers: a command line in the shell, or a given behaviour."""
