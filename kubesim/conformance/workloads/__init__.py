"""Workloads: what the real controllers and the real scheduler did, story by story, replayed by the simulated ones."""
