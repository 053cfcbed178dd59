"""Workload stories: recordings of the real controllers and scheduler, replayed by the simulated ones."""
