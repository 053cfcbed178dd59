"""Fuzzed inputs of every kind (`tests/support/fuzz`)."""
