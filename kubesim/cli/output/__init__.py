"""Output of commands: progress, results of runs, networks."""
