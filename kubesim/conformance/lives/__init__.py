"""Whole lives of pods, replayed against a scripted runtime."""
