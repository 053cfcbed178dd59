"""A container with endless output: each line costs time, and work without waiting is slowed down."""

from __future__ import annotations

from kubesim.trace.records import LogOutput
from tests.support.played import Played, pod


def test_endless_output_does_not_flood_the_log() -> None:
    loud = pod("loud", containers=[{"name": "main", "image": "busybox", "command": ["yes"]}])
    story = Played(objects=[loud], duration="60s")
    lines = sum(1 for record in story.records if isinstance(record, LogOutput))
    assert 0 < lines < 200_000
