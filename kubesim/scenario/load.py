"""Reading scenario files (being written)."""

from __future__ import annotations

from kubesim.scenario.language import Scenario


def load_scenario(path: str) -> Scenario:
    """Read a scenario or plain manifests from a file; "-" is standard input."""
    raise NotImplementedError
