"""The reduced recording of a real node: lines that a test can alter, followed in virtual time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.attach.replay.recorded_server import RecordedServer
from kubesim.attach.replay.recording import recording_of
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.concurrency import TaskSet
from tests.support.attach.watching import Notes

RECORDING = Path(__file__).parents[2] / "attach" / "data" / "node.jsonl.gz"
STAYS = 120 * SECOND  # a follower that starts late

Json = dict[str, Any]


def recording() -> list[Json]:
    with gzip.open(RECORDING, "rt") as lines:
        return [json.loads(line) for line in lines]


def at(line: Json) -> int:
    return round(float(line["t"]) * SECOND)


def beginning(lines: Sequence[Json]) -> int:
    """When every kind had been listed once."""
    return recording_of(enumerate(lines, 1), str(RECORDING)).begin


def followed(lines: Sequence[Json], come: int = 0, stay: int | None = None) -> tuple[NodeFollower, Notes]:
    """A follower that starts this long after the beginning, and its notes."""
    played = recording_of(enumerate(lines, 1), str(RECORDING))
    begin = played.begin + come
    end = played.end if stay is None else min(played.end, begin + stay)

    async def play() -> tuple[NodeFollower, Notes]:
        clock, notes = LoopClock(begin), Notes()
        server = RecordedServer(played, clock, begin)
        follower = NodeFollower(clock, server, played.node, notes)
        async with TaskSet() as tasks:
            follower.start(tasks, Randomness(1))
            await tasks.run_until(server.play(end))
        follower.settle()
        return follower, notes

    return run_virtual(play)
