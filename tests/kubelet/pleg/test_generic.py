"""The PLEG: the events of a change, the times of relists, and that skipping idle relists has no visible effect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesim.clock import LoopClock, run_virtual
from kubesim.errors import RuntimeCallError
from kubesim.features import FeatureGates
from kubesim.kubelet.pleg.generic import EVENT_CAPACITY, GenericPleg
from kubesim.kubelet.pleg.records import compute_events, keep_pod_ips
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import (
    ContainerRecord,
    ContainerRuntimeState,
    ListedContainer,
    RuntimePod,
    RuntimePodStatus,
    SandboxRecord,
)
from kubesim.trace import MemorySink, Recorder
from kubesim.trace.records import Note
from tests.support.soak import LONG, rounds
from tests.support.ticks import ticks

pytestmark = LONG

SECOND = 1_000_000
MS = 1_000


def pod(uid: str = "u", **states: ContainerRuntimeState) -> RuntimePod:
    return RuntimePod(uid, "p", "ns", containers=tuple(ListedContainer(n, n, s) for n, s in states.items()))


class FakeRuntime:
    """Pods by uid. Every change is reported; an unchanged pod is the same object in the next listing."""

    def __init__(self, clock: LoopClock) -> None:
        self.clock = clock
        self.pods: dict[str, RuntimePod] = {}
        self.listings = 0
        self.list_fails = False
        self.inspection_fails: set[str] = set()
        self.inspection_takes = 0
        self.reported: Callable[[str], None] = lambda uid: None

    def on_change(self, listener: Callable[[str], None]) -> None:
        self.reported = listener

    def set(self, *pods: RuntimePod) -> None:
        for changed in pods:
            self.pods[changed.uid] = changed
            self.reported(changed.uid)

    def remove(self, uid: str) -> None:
        if self.pods.pop(uid, None) is not None:
            self.reported(uid)

    async def get_pods(self) -> dict[str, RuntimePod]:
        self.listings += 1
        if self.list_fails:
            raise RuntimeCallError("the runtime is down")
        return dict(self.pods)

    async def get_pod(self, uid: str) -> RuntimePod | None:
        self.listings += 1
        if self.list_fails:
            raise RuntimeCallError("the runtime is down")
        return self.pods.get(uid)

    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus:
        if self.inspection_takes:
            await self.clock.sleep(self.inspection_takes)
        if pod.uid in self.inspection_fails:
            raise RuntimeCallError("inspection failed")
        return RuntimePodStatus(
            pod.uid, containers=tuple(ContainerRecord(c.id, c.name, c.state) for c in pod.containers)
        )


class Scene:
    def __init__(self, **settings: Any) -> None:
        self.clock = LoopClock(0)
        self.runtime = FakeRuntime(self.clock)
        self.cache = PodCache()
        self.sink = MemorySink()
        self.recorder = Recorder(self.clock, self.sink)
        settings = {"list_duration": MS, **settings}
        self.pleg = GenericPleg(self.clock, self.runtime, self.cache, self.recorder, **settings)
        self.runtime.on_change(self.pleg.pod_changed)

    def events(self) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = []
        while (event := self.pleg.events.try_receive()) is not None:
            found.append((event.uid, event.type, event.data))
        return found

    async def until(self, moment: int) -> None:
        await self.clock.sleep_until(moment)


def play(scene: Callable[[Scene], Awaitable[None]], *, run: bool = True, **settings: Any) -> None:
    async def main() -> None:
        stage = Scene(**settings)
        task = asyncio.create_task(stage.pleg.run()) if run else None
        await scene(stage)
        if task is not None:
            assert not task.done()
            task.cancel()

    run_virtual(main)


# -- what a change means --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (None, "running", ["ContainerStarted"]),
        (None, "created", ["ContainerChanged"]),
        ("created", "unknown", []),
        ("created", "running", ["ContainerStarted"]),
        ("running", "running", []),
        ("running", "exited", ["ContainerDied"]),
        ("exited", "running", ["ContainerStarted"]),
        ("exited", None, ["ContainerRemoved"]),
        ("running", None, ["ContainerDied", "ContainerRemoved"]),
        ("created", None, ["ContainerDied", "ContainerRemoved"]),
    ],
)
def test_events_of_a_container(was: Any, now: Any, expected: list[str]) -> None:
    old = pod(c=was) if was else pod()
    current = pod(c=now) if now else pod()
    assert [event.type for event in compute_events(old, current)] == expected


def test_sandboxes_count_as_containers_and_the_old_listing_is_reported_first() -> None:
    old = RuntimePod("u", containers=(ListedContainer("c1", "a", "running"),))
    new = RuntimePod("u", sandboxes=(ListedContainer("s1", "", "running"),))
    assert [(e.type, e.data) for e in compute_events(old, new)] == [
        ("ContainerDied", "c1"),
        ("ContainerRemoved", "c1"),
        ("ContainerStarted", "s1"),
    ]


def test_a_pod_without_a_ready_sandbox_keeps_its_addresses() -> None:
    cached = RuntimePodStatus("u", ips=("10.0.0.1",))
    assert keep_pod_ips(RuntimePodStatus("u", sandboxes=(SandboxRecord("s", ready=False),)), cached) == ("10.0.0.1",)
    assert keep_pod_ips(RuntimePodStatus("u", sandboxes=(SandboxRecord("s", ready=True),)), cached) == ()
    assert keep_pod_ips(RuntimePodStatus("u"), None) == ()


def test_events_are_withheld_while_the_inspection_fails() -> None:
    async def scene(s: Scene) -> None:
        s.runtime.set(pod(c="running"))
        s.runtime.inspection_fails.add("u")
        await s.pleg.relist()
        assert s.events() == []
        with pytest.raises(RuntimeCallError):
            s.cache.get("u")
        s.runtime.inspection_fails.clear()
        await s.pleg.relist()
        assert s.events() == [("u", "ContainerStarted", "c")]
        assert len(s.cache.get("u").containers) == 1

    play(scene, run=False)


def test_a_pod_deleted_before_its_inspection_still_wakes_its_worker() -> None:
    async def scene(s: Scene) -> None:
        s.runtime.set(pod(c="running"))
        s.runtime.inspection_fails.add("u")
        await s.pleg.relist()
        s.runtime.remove("u")
        await s.pleg.relist()
        assert s.events() == [("u", "PodSync", "")]

    play(scene, run=False)


def test_a_full_channel_drops_events() -> None:
    async def scene(s: Scene) -> None:
        dropped: list[str] = []
        s.pleg.on_dropped = dropped.append
        s.runtime.set(*(pod(f"u{n}", c="running") for n in range(EVENT_CAPACITY + 1)))
        await s.pleg.relist()
        assert dropped == [f"u{EVENT_CAPACITY}"]  # nothing but its next resync wakes its worker
        assert len(s.events()) == EVENT_CAPACITY
        assert s.pleg.events.dropped == 1
        assert "dropped" in s.sink.records[-1].why

    play(scene, run=False)


def test_an_event_refers_to_its_record_and_its_record_to_the_writer_of_the_pod() -> None:
    async def scene(s: Scene) -> None:
        seq = s.recorder.record(Note(text="the container starts"))
        s.recorder.because(seq)
        s.runtime.set(pod(c="running"))
        s.recorder.because(None)
        await s.pleg.relist()
        event = s.pleg.events.try_receive()
        assert event is not None
        assert event.cause == s.sink.records[-1].seq
        assert s.sink.records[-1].cause == seq

    play(scene, run=False)


# -- when it looks --------------------------------------------------------------------------------------------------


def test_the_phase_drifts_by_the_duration_of_each_relist_even_if_it_is_skipped() -> None:
    async def scene(s: Scene) -> None:
        await s.until(10 * SECOND + 20 * MS)
        s.runtime.set(pod(c="running"))
        assert s.runtime.listings == 2  # the first one, and one without changes
        await s.until(11 * SECOND + 12 * MS - 1)
        assert s.events() == []
        await s.until(11 * SECOND + 12 * MS + 1)  # the 12th begins at 11.011 s and reads 1 ms later
        assert s.events() == [("u", "ContainerStarted", "c")]
        assert s.runtime.listings == 3

    play(scene)


def test_a_change_during_a_skipped_relist_is_seen_by_that_relist() -> None:
    async def scene(s: Scene) -> None:
        await s.until(3 * SECOND + 3 * MS + 400)
        s.runtime.set(pod(c="running"))
        await s.until(3 * SECOND + 4 * MS + 1)
        assert s.events() == [("u", "ContainerStarted", "c")]

    play(scene)


def test_a_waiter_is_woken_by_the_first_relist_that_begins_after_its_request() -> None:
    async def scene(s: Scene) -> None:
        await s.until(5 * SECOND + 500 * MS)
        await s.cache.get_newer_than("u", 5 * SECOND)  # the relist at 5.005 s was skipped, but is counted
        assert s.clock.now() == 5 * SECOND + 500 * MS
        await s.cache.get_newer_than("u", s.clock.now())
        assert s.clock.now() == 6 * SECOND + 7 * MS

    play(scene)


def test_an_idle_day_costs_no_listings_and_is_healthy() -> None:
    async def scene(s: Scene) -> None:
        await s.until(86_400 * SECOND)
        assert s.runtime.listings < 5
        assert s.pleg.healthy(s.clock.now()) == (True, "")

    play(scene)


def test_a_runtime_whose_list_call_fails_is_polled_every_second_and_reported() -> None:
    async def scene(s: Scene) -> None:
        assert s.pleg.healthy(0) == (False, "pleg has yet to be successful")
        await s.until(SECOND // 2)
        s.runtime.list_fails = True
        s.runtime.reported("")
        await s.until(200 * SECOND)
        assert s.runtime.listings == 200
        healthy, problem = s.pleg.healthy(s.clock.now())
        assert not healthy
        assert problem == "pleg was last seen active 3m20s ago; threshold is 3m0s"

    play(scene)


def test_a_pod_is_relisted_on_demand_and_its_status_is_newer_than_the_request() -> None:
    async def scene(s: Scene) -> None:
        await s.until(2 * SECOND + 300 * MS)
        s.runtime.set(pod(c="running"))
        s.pleg.request_relist("u")
        status = await s.cache.get_newer_than("u", s.clock.now())
        assert s.clock.now() == 2 * SECOND + 301 * MS
        assert len(status.containers) == 1
        assert s.events() == [("u", "ContainerStarted", "c")]
        assert (await s.cache.get_newer_than("u", 2 * SECOND + 300 * MS)) == status
        assert s.clock.now() == 2 * SECOND + 301 * MS

    play(scene)


def test_a_deleted_pod_is_left_to_the_next_relist() -> None:
    async def scene(s: Scene) -> None:
        await s.until(300 * MS)
        s.pleg.request_relist("u")
        await s.cache.get_newer_than("u", s.clock.now())
        assert s.clock.now() == SECOND + 2 * MS

    play(scene)


def test_without_the_gate_requests_are_ignored() -> None:
    async def scene(s: Scene) -> None:
        await s.until(300 * MS)
        s.runtime.set(pod(c="running"))
        s.pleg.request_relist("u")
        await s.until(SECOND)
        assert s.events() == []

    play(scene, gates=FeatureGates({"PLEGOnDemandRelist": False}))


# -- skipping shows nowhere -----------------------------------------------------------------------------------------

LIST_DURATIONS = (0, 1, MS, 300 * MS)
STATES: tuple[ContainerRuntimeState, ...] = ("created", "running", "exited", "unknown")


@st.composite
def scripts(draw: st.DrawFn) -> tuple[int, int, list[tuple[int, str, str, Any]]]:
    """How long listing and inspecting take, and the times of changes, often at the start or the read of a relist."""
    duration = draw(st.sampled_from(LIST_DURATIONS))
    uids = st.sampled_from(("a", "b"))

    def moment() -> int:
        begins = draw(st.integers(0, 6)) * (SECOND + duration)
        return max(0, begins + draw(st.sampled_from((0, 0, duration, duration // 2, -1, 1, 400 * MS, 777 * MS))))

    kinds = ("state", "state", "remove", "reinspect", "relist", "wait", "health", "inspection", "listing")
    steps = []
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(kinds))
        argument: Any = None
        if kind == "state":
            argument = draw(st.sampled_from(STATES))
        elif kind == "wait":
            argument = draw(st.sampled_from((0, 1, MS, SECOND, 5 * SECOND)))
        steps.append((moment(), kind, draw(uids), argument))
    return duration, draw(st.sampled_from((0, 0, 700))), sorted(steps, key=lambda step: step[0])


async def observe(duration: int, inspection: int, steps: list[tuple[int, str, str, Any]]) -> list[Any]:
    s = Scene(list_duration=duration)
    s.runtime.inspection_takes = inspection
    seen: list[Any] = []
    tasks = []

    async def wait(uid: str, moment: int) -> None:
        try:
            seen.append((s.clock.now(), "asked", uid))
            status = await s.cache.get_newer_than(uid, moment)
            seen.append((s.clock.now(), "served", status))
        except RuntimeCallError as error:
            seen.append((s.clock.now(), "served", str(error)))

    async def listen() -> None:
        while True:
            event = await s.pleg.events.receive()
            seen.append((s.clock.now(), event.uid, event.type, event.data))

    def act(kind: str, uid: str, argument: Any) -> None:
        if kind == "state":
            s.runtime.set(pod(uid, c=argument))
        elif kind == "remove":
            s.runtime.remove(uid)
        elif kind == "reinspect":
            s.pleg.request_reinspect(uid)
        elif kind == "relist":
            s.pleg.request_relist(uid)
        elif kind == "wait":
            tasks.append(asyncio.create_task(wait(uid, s.clock.now() - argument)))
        elif kind == "health":
            seen.append((s.clock.now(), s.pleg.healthy(s.clock.now()), s.pleg._relist_time))
        elif kind == "inspection":
            s.runtime.inspection_fails ^= {uid}
        else:
            s.runtime.list_fails = not s.runtime.list_fails
            s.runtime.reported("")

    for moment, kind, uid, argument in steps:
        s.clock.call_at(moment, act, kind, uid, argument)
    tasks += [asyncio.create_task(s.pleg.run()), asyncio.create_task(listen())]
    await s.until(20 * SECOND + 123)
    seen.append([s.pleg.healthy(s.clock.now()), repr(s.cache._entries), s.cache._timestamp])
    for task in tasks:
        task.cancel()
    return seen


@pytest.mark.parametrize(("every_tick", "listings"), [(False, 2), (True, 20)])
def test_idle_relists_are_skipped_unless_all_are_requested(every_tick: bool, listings: int) -> None:
    async def scene(s: Scene) -> None:
        await s.until(20 * SECOND)
        assert s.runtime.listings == listings

    with ticks(every_tick=every_tick):
        play(scene)


@settings(deadline=None, max_examples=rounds(1000))
@given(scripts())
def test_skipping_idle_relists_has_no_visible_effect(script: tuple[int, int, list[tuple[int, str, str, Any]]]) -> None:
    duration, inspection, steps = script
    skipping = run_virtual(observe, duration, inspection, steps)
    with ticks(every_tick=True):
        assert skipping == run_virtual(observe, duration, inspection, steps)
