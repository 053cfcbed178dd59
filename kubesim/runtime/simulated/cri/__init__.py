"""The CRI plugin of the simulated runtime: its start, the steps of a sandbox, and who is notified."""
