"""Scenarios as tests: cases, the processes that run them, reports, snapshots, and the plugin for pytest."""
