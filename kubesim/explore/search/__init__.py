"""The search: parts that select the next runs, shrinking, and the driver that executes the runs."""
