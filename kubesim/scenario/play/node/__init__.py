"""One simulated node: its machine, runtime and disk, and the agent that comes and continues it."""
