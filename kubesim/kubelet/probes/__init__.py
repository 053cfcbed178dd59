"""Probes: one worker per probe of a container, the results, and the probe handlers."""
