"""Whole pod lifecycles, replayed with a scripted runtime."""
