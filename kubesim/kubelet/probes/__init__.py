"""Probes: one worker per probe of a container, their verdicts, and how each kind of probe is run."""
