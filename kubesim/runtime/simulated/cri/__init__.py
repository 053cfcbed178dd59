"""The CRI plugin of the simulated runtime: start-up, sandbox steps, listeners."""
