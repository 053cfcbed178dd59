"""Scenarios as tests: cases, worker processes, reports, snapshots, and the pytest plugin."""
