"""Executors: pure tasks run in this process, in a pool of processes, or elsewhere."""
