"""The API server source: its requests, its updates of the mux, and its end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.remote.transport import Call, Reply
from kubesim.cluster.served.rest import Request, handle
from kubesim.concurrency import TaskSet
from kubesim.sources.apiserver import MAX_PENDING
from tests.support.sources.faulty_api import DirectReply, DirectTransport, Fault, FaultyTransport
from tests.support.sources.following import NODE, Follower, new_pod, new_store


class Stage:
    """A source that follows a store. Faults for its calls, in order."""

    def __init__(self, tasks: TaskSet, faults: list[Fault], history: int, streaming: bool) -> None:
        self.clock = LoopClock()
        self.store = new_store(self.clock, history)
        self.direct = DirectTransport(self.store, self.clock, streaming_lists=streaming)
        self.follower = Follower(self.clock, tasks, FaultyTransport(self.direct, self.clock, faults, Fault()))
        self.follower.source.start()

    async def after(self, duration: int = SECOND) -> list[str]:
        await self.clock.sleep(duration)
        return self.follower.take()

    def label(self, name: str, value: str) -> None:
        pod = self.store.get("Pod", "default", name)
        self.store.replace(pod.changed(metadata=pod.metadata.changed(labels={"l": value})))

    def asked(self) -> list[Call]:
        calls, self.direct.calls = self.direct.calls, []
        return calls


def on_stage(
    play: Callable[[Stage], Awaitable[None]], *faults: Fault, history: int = 4096, streaming: bool = True
) -> None:
    async def main() -> None:
        async with TaskSet() as tasks:

            async def run() -> None:
                await play(Stage(tasks, list(faults), history, streaming))

            await tasks.run_until(run())

    run_virtual(main)


def queries(calls: list[Call]) -> list[tuple[str, dict[str, str]]]:
    """Without the query that all of them have."""
    common = ("fieldSelector", "allowWatchBookmarks", "watch", "timeoutSeconds")
    return [(call.verb, {key: call.query[key] for key in call.query if key not in common}) for call in calls]


def test_an_empty_node_is_a_source_that_has_reported() -> None:
    async def play(stage: Stage) -> None:
        await stage.clock.sleep(SECOND)
        item = stage.follower.config.updates.try_receive()
        assert item is not None
        assert (item[0].op, item[0].pods) == ("ADD", ())

    on_stage(play)


def test_a_streaming_list_continues_as_the_watch() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        stage.store.create(new_pod("elsewhere", "other"))
        assert await stage.after() == ["ADD a"]
        stage.label("a", "1")
        stage.store.create(new_pod("b"))
        stage.store.remove("Pod", "default", "a")
        assert await stage.after() == ["UPDATE a", "ADD b", "REMOVE a"]
        (call,) = stage.asked()
        assert call.path == "/api/v1/pods"
        assert 300 <= int(call.query["timeoutSeconds"]) < 600
        assert {key: value for key, value in call.query.items() if key != "timeoutSeconds"} == {
            "fieldSelector": f"spec.nodeName={NODE}",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
        }

    on_stage(play)


def test_without_streaming_lists_it_lists_and_watches() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        assert await stage.after() == ["ADD a"]
        stage.label("a", "1")
        assert await stage.after() == ["UPDATE a"]
        assert queries(stage.asked())[1:] == [
            ("list", {"resourceVersion": "0", "limit": "500"}),
            ("watch", {"resourceVersion": "1"}),
        ]

    on_stage(play, streaming=False)


def test_a_watch_that_ends_is_resumed_at_the_last_version_and_nothing_is_reported_again() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        stage.store.create(new_pod("b"))
        assert await stage.after() == ["ADD a", "ADD b"]
        await stage.after(11 * MINUTE)
        assert stage.follower.reported == ["ADD a", "ADD b"]
        (verb, query), *_ = queries(stage.asked())[1:]
        assert (verb, query) == ("watch", {"resourceVersion": "2"})
        assert stage.follower.problems() == []

    on_stage(play)


def test_a_bookmark_saves_a_new_list() -> None:
    """The node's pods do not change, but other objects do until the version has expired."""

    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        await stage.after()
        for number in range(400):
            stage.store.create(new_pod(f"elsewhere-{number}", "other"))
            await stage.clock.sleep(3 * SECOND)
        calls = queries(stage.asked())
        assert len(calls) >= 2
        assert all(verb == "watch" and "sendInitialEvents" not in query for verb, query in calls[1:])
        stage.follower.take()
        assert stage.follower.reported == ["ADD a"]

    on_stage(play, history=100)


def test_an_expired_version_causes_a_new_list() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        await stage.after(5 * SECOND)
        for name in ("b", "c", "d"):
            stage.store.create(new_pod(name))
        stage.store.remove("Pod", "default", "a")
        reported = await stage.after(2 * MINUTE)
        assert reported == ["REMOVE a", "ADD b", "ADD c", "ADD d"]
        assert stage.follower.problems()[0].startswith("API server source: a watch of Pods failed: too old")

    on_stage(play, Fault("close", 2), history=2)  # after the pod and the marker


def test_an_unavailable_server_is_retried_with_growing_delays() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        assert await stage.after(4 * MINUTE) == ["ADD a"]
        waits = [float(text.rsplit("again in ")[1].split(" ")[0]) for text in stage.follower.problems()]
        assert all(base <= wait <= 2 * base for base, wait in zip((0.8, 1.6, 3.2, 6.4), waits, strict=True))

    on_stage(play, *[Fault("refuse")] * 4)


def test_a_throttling_server_is_obeyed() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        assert await stage.after(19 * SECOND) == []
        assert await stage.after(5 * SECOND) == ["ADD a"]

    on_stage(play, Fault("status", 20, 5))


def test_a_silent_streaming_list_is_aborted_after_half_a_minute() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        stage.store.create(new_pod("b"))
        assert await stage.after(29 * SECOND) == []
        assert await stage.after(2 * SECOND) == ["ADD a", "ADD b"]
        assert [verb for verb, _ in queries(stage.asked())] == ["watch", "list", "watch"]

    on_stage(play, Fault("stall", 1))


def test_a_silent_watch_is_closed_when_it_is_overdue() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        await stage.after()
        stage.label("a", "1")
        assert await stage.after(5 * MINUTE) == []
        assert await stage.after(6 * MINUTE) == ["UPDATE a"]

    on_stage(play, Fault("stall", 2))


def test_a_watch_that_never_sends_anything() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        assert await stage.after(31 * SECOND) == ["ADD a"]

    on_stage(play, Fault("stall", 0))


def test_a_resumed_watch_that_becomes_silent() -> None:
    """The first connection ends, the second one is silent and does not end."""

    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        await stage.after(5 * SECOND)
        stage.label("a", "1")
        assert await stage.after(5 * MINUTE) == []
        assert await stage.after(6 * MINUTE) == ["UPDATE a"]

    on_stage(play, Fault("close", 2), Fault("stall", 0))


def test_events_in_the_same_chunk_as_the_end_of_a_streaming_list_count() -> None:
    async def main() -> None:
        clock = LoopClock()
        store = new_store(clock)
        for name in ("a", "b"):
            store.create(new_pod(name))
        query = "watch=1&sendInitialEvents=1&allowWatchBookmarks=1&resourceVersionMatch=NotOlderThan"
        found = handle(store, Request("GET", f"/api/v1/pods?{query}"))
        store.remove("Pod", "default", "a")
        store.create(new_pod("c"))

        class OneReply(DirectTransport):
            @asynccontextmanager
            async def open(self, call: Call) -> AsyncIterator[Reply]:
                yield DirectReply(clock, found)

        async with TaskSet() as tasks:
            follower = Follower(clock, tasks, OneReply(store, clock))
            follower.source.start()
            await clock.sleep(SECOND)
            assert follower.take() == ["ADD a", "ADD b", "REMOVE a", "ADD c"]

    run_virtual(main)


def test_pages_are_joined_and_expired_ones_are_requested_as_a_whole() -> None:
    async def play(stage: Stage) -> None:
        for number in range(1201):
            stage.store.create(new_pod(f"p{number:04}"))
        stage.follower.source.stop()
        listing = stage.follower.source._following
        listing.reflector.version_is_unavailable()
        page, paged = await listing._pages("")
        assert (len(page.objects), paged, page.version) == (1201, True, "1201")
        assert len({pod.metadata.name for pod in page.objects}) == 1201
        assert [query.get("limit") for verb, query in queries(stage.asked()) if verb == "list"] == ["500"] * 3

    on_stage(play)


def test_no_more_is_read_than_can_be_processed() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        await stage.clock.sleep(SECOND)
        for number in range(MAX_PENDING + 50):
            pod = stage.store.get("Pod", "default", "a")
            assert isinstance(pod, Pod)
            stage.store.write(pod, pod.changed(status=pod.status.changed(pod_ip=f"10.0.0.{number}")))
            if number % 100 == 0:
                await stage.clock.sleep(1000)
        await stage.clock.sleep(SECOND)
        waiting = len(stage.follower.config.updates)
        assert MAX_PENDING < waiting < MAX_PENDING + 50 + 2
        reported = stage.follower.take() + await stage.after()
        assert len(reported) == MAX_PENDING + 51, "and what had to wait is not lost"
        assert stage.follower.config.updates.dropped == 0

    on_stage(play)


def test_stopping_ends_it_immediately() -> None:
    async def play(stage: Stage) -> None:
        stage.store.create(new_pod("a"))
        await stage.after()
        stage.follower.source.stop()
        stage.store.create(new_pod("b"))
        assert await stage.after(11 * MINUTE) == []
        assert stage.store._listeners["Pod"] == ()
        stage.follower.source.stop()

    on_stage(play)
