"""Judging what a scenario expects: each expectation is told met or failed once, in the trace, with a reason in words.

The judge watches pods and events at the API server, as a user with `kubectl get --watch` would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from kubesim.api.event import Event
from kubesim.api.pod import ContainerStatus, Pod
from kubesim.clock import LoopClock
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.golang.text import duration
from kubesim.scenario.language.document import Expect
from kubesim.trace import Recorder
from kubesim.trace.records import Expectation
from kubesim.values import value_object


def describe(expect: Expect) -> str:
    """`pod web: phase Running by 20s`."""
    if expect.phase is not None:
        what = f"phase {expect.phase}"
    elif expect.condition is not None:
        what = f"condition {_condition(expect)[0]} {_condition(expect)[1]}"
    elif expect.event is not None:
        what = f"event {expect.event}"
        what += f" with {expect.message!r}" if expect.message else ""
        what += f" {expect.count} times" if expect.count > 1 else ""
    elif expect.restart_count is not None:
        what = f"{expect.restart_count} restarts"
    elif expect.waiting is not None:
        what = f"waiting for {expect.waiting}"
    else:
        what = "gone"
    container = f", container {expect.container}" if expect.container else ""
    by = "" if expect.by is None else f" by {duration(expect.by)}"
    return f"pod {expect.pod}{container}: {'never ' if expect.never else ''}{what}{by}"


def _condition(expect: Expect) -> tuple[str, str]:
    type, _, status = (expect.condition or "").partition("=")
    return type, status or "True"


@value_object
class Verdict:
    text: str
    met: bool
    why: str


class _Open:
    """An expectation that is not decided, and what is known of its pod."""

    def __init__(self, expect: Expect) -> None:
        self.expect = expect
        self.text = describe(expect)
        self.seen = "no such pod was seen"
        self.appeared = False
        self.events: dict[str, int] = {}  # by name of the event: how often it was told
        self.timer: asyncio.TimerHandle | None = None

    def pod_is(self, pod: Pod, gone: bool) -> bool:
        """Look at the pod; has what is expected come true?"""
        expect, status = self.expect, pod.status
        self.appeared = True
        if expect.phase is not None:
            self.seen = f"the phase is {status.phase}" + (", and the pod is gone" if gone else "")
            return not gone and status.phase == expect.phase
        if expect.condition is not None:
            type, wanted = _condition(expect)
            found = next((c.status for c in status.conditions if c.type == type), "not set")
            self.seen = f"{type} is {found}" + (", and the pod is gone" if gone else "")
            return not gone and found == wanted
        if expect.gone is not None:
            self.seen = "it is gone" if gone else "it is still there"
            return gone
        if expect.event is not None:
            self._count_events()
            return False
        statuses = [s for s in _container_statuses(pod) if expect.container in ("", s.name)]
        if expect.restart_count is not None:
            most = max((s.restart_count for s in statuses), default=0)
            self.seen = f"there were {most} restarts"
            return bool(statuses) and most >= expect.restart_count
        reasons = [s.state.waiting.reason for s in statuses if s.state.waiting is not None]
        self.seen = f"waiting: {', '.join(reasons) or 'nothing'}"
        return expect.waiting in reasons

    def event_is(self, event: Event) -> bool:
        expect = self.expect
        if event.reason != expect.event or expect.message not in event.message:
            return False
        self.events[event.metadata.name] = event.count
        return self._count_events() >= expect.count

    def _count_events(self) -> int:
        told = sum(self.events.values())
        self.seen = {0: "it was not told", 1: "it was told once"}.get(told, f"it was told {told} times")
        return told


def _container_statuses(pod: Pod) -> Iterable[ContainerStatus]:
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)


class Judge:
    """All expectations of one run. `verdicts` are in the order in which they fell."""

    def __init__(self, clock: LoopClock, recorder: Recorder, store: Store, expectations: Sequence[Expect]) -> None:
        self._clock = clock
        self._recorder = recorder
        self._start = clock.now()
        self._open: dict[tuple[str, str], list[_Open]] = {}
        self.verdicts: list[Verdict] = []
        self.on_verdict: Callable[[], None] = lambda: None
        self._stops: list[Callable[[], None]] = []
        if expectations:
            self._stops = [store.watch("Pod", self._pod_changed), store.watch("Event", self._event_changed)]
        for expect in expectations:
            item = _Open(expect)
            self._open.setdefault(expect.key, []).append(item)
            if expect.by is not None:
                item.timer = clock.call_at(self._start + expect.by + 1, self._time_is_up, item)

    def waits(self, *, before_deletion: bool) -> bool:
        """Is something still to come? Before pods are deleted only what has a time counts, and not that they go."""
        for items in self._open.values():
            for expect in (item.expect for item in items if not item.expect.never):
                if not before_deletion or (expect.by is not None and expect.gone is None):
                    return True
        return False

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        if isinstance(pod, Pod):
            for item in list(self._open.get((pod.metadata.namespace, pod.metadata.name), ())):
                if item.pod_is(pod, change.type == "DELETED"):
                    self._came_true(item)

    def _event_changed(self, change: WatchEvent) -> None:
        event = change.object
        if isinstance(event, Event) and change.type != "DELETED" and event.involved_object.kind == "Pod":
            about = event.involved_object
            for item in list(self._open.get((about.namespace, about.name), ())):
                if item.expect.event is not None and item.event_is(event):
                    self._came_true(item)

    def _came_true(self, item: _Open) -> None:
        self._decide(item, not item.expect.never, f"{item.seen} after {duration(self._clock.now() - self._start)}")

    def _time_is_up(self, item: _Open) -> None:
        assert item.expect.by is not None
        self._decide(item, item.expect.never, f"{item.seen} after {duration(item.expect.by)}")

    def _decide(self, item: _Open, met: bool, why: str) -> None:
        key = item.expect.key
        self._open[key].remove(item)
        if item.timer is not None:
            item.timer.cancel()
        self._say(item.text, met, why, "/".join(key))

    def _say(self, text: str, met: bool, why: str, pod: str) -> None:
        self.verdicts.append(Verdict(text, met, why))
        self._recorder.record(Expectation(pod=pod, expectation=text, met=met, why=why))
        self.on_verdict()

    def step_failed(self, text: str, why: str, pod: str = "") -> None:
        """A step that could not be taken fails the run like an expectation."""
        self._say(text, False, why, pod)

    def close(self) -> None:
        """The run is over: what is open is decided by what was seen last."""
        for stop in self._stops:
            stop()
        for items in list(self._open.values()):
            for item in list(items):
                self._decide(item, item.expect.never, f"{item.seen} at the end")
