"""Sinks of the trace: the timeline for readers, and lines of JSON for programs."""
