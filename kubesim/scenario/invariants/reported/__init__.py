"""Invariants of what the API server is told and stores."""
