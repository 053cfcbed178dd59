"""The http source in virtual time: when it polls, its updates, and that polls without effect can be skipped."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.sources.config import ConfigStream
from kubesim.sources.http import HttpSource
from kubesim.sources.manifests.manifest_files import MAX_CONFIG_LENGTH
from kubesim.sources.manifests.manifest_url import UrlAnswer
from kubesim.sources.manifests.simulated_url import SimulatedUrl, UrlBehaviour
from kubesim.trace import MemorySink, Recorder
from kubesim.trace.records import Note
from tests.support.soak import LONG, rounds
from tests.support.sources.manifests import pod, pods
from tests.support.ticks import ticks

pytestmark = LONG


class Asked(SimulatedUrl):
    """Records the times of its requests."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock)
        self.at: list[int] = []

    async def get(self) -> UrlAnswer:
        self.at.append(self._clock.elapsed())
        return await super().get()

    def serve(self, body: Any, status: int = 200, delay: int = 2 * MILLISECOND) -> None:
        self.behave(UrlBehaviour(UrlAnswer(status, json.dumps(body).encode()), delay=delay))


class Stage:
    def __init__(self, tasks: TaskSet, **options: Any) -> None:
        self.clock = LoopClock()
        self.url = Asked(self.clock)
        self.trace = MemorySink()
        recorder = Recorder(self.clock, self.trace)
        self.config = ConfigStream(self.clock, recorder, ("http",))
        self.source = HttpSource(self.clock, tasks, recorder, self.config, self.url, "node-1", **options)

    async def reported(self, after: int = 100 * MILLISECOND) -> list[tuple[str, list[str]]]:
        """The updates that the sync loop would have received since the last call."""
        await self.clock.sleep(after)
        updates: list[tuple[str, list[str]]] = []
        while (item := self.config.updates.try_receive()) is not None:
            updates.append((item[0].op, [pod.metadata.name.removesuffix("-node-1") for pod in item[0].pods]))
        return updates

    def notes(self) -> list[str]:
        return [record.text for record in self.trace.records if isinstance(record, Note)]


def on_stage(play: Callable[[Stage], Coroutine[Any, Any, None]], *, every_tick: bool = False, **options: Any) -> None:
    async def main() -> None:
        async with TaskSet() as tasks:
            await tasks.run_until(play(Stage(tasks, **options)))

    with ticks(every_tick=every_tick):
        run_virtual(main)


def test_it_polls_immediately_and_then_every_20_seconds() -> None:
    async def play(stage: Stage) -> None:
        stage.url.serve(pod("a"))
        stage.source.start()
        assert await stage.reported() == [("ADD", ["a"])]
        stage.url.serve(pods("a", "b"))
        assert await stage.reported(19 * SECOND) == []
        assert await stage.reported(SECOND) == [("ADD", ["b"])], "the pod that was there before is the same"
        stage.url.serve(pods())
        assert await stage.reported(20 * SECOND) == [("REMOVE", ["a", "b"])]

    on_stage(play)


def test_the_poll_interval_is_configurable() -> None:
    async def play(stage: Stage) -> None:
        stage.source.start()
        await stage.reported(10 * SECOND)
        assert stage.url.at == [0, 5_002_000]

    on_stage(play, every_tick=True, period=5 * SECOND)


def test_the_pause_starts_at_the_end_of_the_last_request() -> None:
    async def play(stage: Stage) -> None:
        stage.url.serve(pod("a"), delay=3 * SECOND)
        stage.source.start()
        await stage.reported(50 * SECOND)
        assert stage.url.at == [0, 23 * SECOND, 46 * SECOND]

    on_stage(play, every_tick=True)


def test_a_hanging_url_has_ten_seconds() -> None:
    async def play(stage: Stage) -> None:
        stage.url.behave(UrlBehaviour(delay=3600 * SECOND))
        stage.source.start()
        assert await stage.reported(35 * SECOND) == []
        assert stage.url.at == [0, 30 * SECOND]
        [note] = stage.notes()
        assert note.startswith('Failed to read pods from URL: Get "http://manifests.example/pods": context deadline ')

    on_stage(play)


def test_a_failed_request_keeps_the_pods_and_too_much_content_is_a_failure() -> None:
    async def play(stage: Stage) -> None:
        stage.url.serve(pod("a"))
        stage.source.start()
        await stage.reported()
        for behaviour in (
            UrlBehaviour(UrlAnswer(500)),
            UrlBehaviour(error="dial tcp 10.0.0.9:80: connect: connection refused"),
            UrlBehaviour(UrlAnswer(200, b"x" * MAX_CONFIG_LENGTH)),
        ):
            stage.url.behave(behaviour)
            assert await stage.reported(20_100 * MILLISECOND) == []
        assert [note.rpartition(": ")[2] for note in stage.notes()] == [
            "500 Internal Server Error",
            "connection refused",
            "the read limit is reached",
        ]
        stage.url.behave(UrlBehaviour(UrlAnswer(200, b"")))
        assert await stage.reported(20_100 * MILLISECOND) == [("REMOVE", ["a"])]

    on_stage(play)


def test_unchanged_content_causes_nothing() -> None:
    async def play(stage: Stage) -> None:
        stage.url.serve(pod("a"))
        stage.source.start()
        await stage.reported(24 * 3600 * SECOND)
        assert len(stage.url.at) < 4, "once more after something happened, and then no more"

    on_stage(play)


@pytest.mark.parametrize("seed", range(rounds(300)))
def test_skipping_polls_changes_nothing(seed: int) -> None:
    """The same run with all polls and with only the relevant ones: the reports have the same times."""
    draw = random.Random(seed)
    bodies = [pod("a"), pod("b"), pods("a", "b"), pods(), "neither"]
    statuses, delays_ms = (200, 200, 503), (2, 900, 12_000)
    story = [
        (draw.randrange(1, 200 * SECOND), draw.choice(bodies), draw.choice(statuses), draw.choice(delays_ms))
        for _ in range(8)
    ]

    def reported(every_tick: bool) -> list[tuple[int, str, str]]:
        records: list[tuple[int, str, str]] = []

        async def play(stage: Stage) -> None:
            stage.source.start()
            for pause, body, status, delay_ms in story:
                await stage.clock.sleep(pause)
                stage.url.serve(body, status, delay_ms * MILLISECOND)
            await stage.clock.sleep(300 * SECOND)
            records.extend((r.t, r.KIND, str(r.to_json().get("text", ""))) for r in stage.trace.records)

        on_stage(play, every_tick=every_tick)
        return records

    assert reported(every_tick=True) == reported(every_tick=False)


def test_after_its_stop_nothing_is_requested_or_received() -> None:
    async def play(stage: Stage) -> None:
        stage.url.behave(UrlBehaviour(delay=5 * SECOND))
        stage.source.start()
        await stage.reported(SECOND)
        stage.source.stop()
        stage.url.serve(pod("a"))
        assert await stage.reported(60 * SECOND) == []
        assert stage.url.at == [0]

    on_stage(play)


def test_a_withdrawn_source_has_no_pods() -> None:
    async def play(stage: Stage) -> None:
        stage.url.serve(pod("a"))
        stage.source.start()
        await stage.reported()
        stage.source.withdraw()
        assert await stage.reported() == [("REMOVE", ["a"])]

    on_stage(play)
