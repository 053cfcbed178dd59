"""A simulated node: its machine, runtime and disk, and its agent, which can stop and start again."""
