"""Judging what a scenario expects: each expectation is decided once, met or failed, with a reason in words.

The judge watches objects and Events at the API server, as a user with `kubectl get --watch` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from kubesim.api.event import Event
from kubesim.clock import LoopClock
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.golang.text import duration
from kubesim.scenario.ending.failure import Failure, FailureKind
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.play.open_expectation import OpenExpectation
from kubesim.trace import Recorder
from kubesim.trace.records import Expectation

Place = tuple[str, int]  # a file, and a line of it; 0: nowhere
NOWHERE = ("", 0)


class Judge:
    """All expectations of one run. `met` and `failures` are in the order in which they were decided."""

    def __init__(self, clock: LoopClock, recorder: Recorder, store: Store, expectations: Sequence[Expect]) -> None:
        self._clock = clock
        self._recorder = recorder
        self._start = clock.now()
        self._open: dict[str, dict[tuple[str, str], list[OpenExpectation]]] = {}  # by kind, then by namespace and name
        self._globs: list[OpenExpectation] = []
        self.met: list[str] = []
        self.failures: list[Failure] = []
        self.on_verdict: Callable[[], None] = lambda: None
        self._stops: list[Callable[[], None]] = []
        for expect in expectations:
            item = OpenExpectation(expect)
            self._items(item).append(item)
            end = expect.by if expect.between is None else expect.between[1]
            if expect.between is not None:
                item.timers.append(clock.call_at(self._start + expect.between[0], self._begins, item))
            if end is not None:
                item.timers.append(clock.call_at(self._start + end + 1, self._time_is_up, item, end))
        if expectations:
            self._stops = [store.watch(kind, self._object_changed) for kind in {e.kind: None for e in expectations}]
            self._stops.append(store.watch("Event", self._event_changed))

    def _items(self, item: OpenExpectation) -> list[OpenExpectation]:
        """The list in which an open question is kept."""
        expect = item.expect
        return self._globs if expect.is_glob else self._open.setdefault(expect.kind, {}).setdefault(expect.key, [])

    def _all(self) -> Iterator[OpenExpectation]:
        for by_name in self._open.values():
            for items in by_name.values():
                yield from items
        yield from self._globs

    def waits(self, *, before_deletion: bool) -> bool:
        """Is something still to come? Before pods are deleted only what has a time counts, and not that they go."""
        for expect in (item.expect for item in self._all() if not item.expect.never):
            if not before_deletion or (expect.by is not None and expect.gone is None):
                return True
        return False

    def _about(self, kind: str, namespace: str, name: str) -> list[OpenExpectation]:
        found = self._open.get(kind, {}).get((namespace, name), [])
        if not self._globs:
            return list(found)
        globs = (item for item in self._globs if item.expect.kind == kind and item.expect.key[0] == namespace)
        return [*found, *(item for item in globs if fnmatchcase(name, item.expect.key[1]))]

    def _object_changed(self, change: WatchEvent) -> None:
        obj = change.object
        for item in self._about(obj.kind, obj.metadata.namespace, obj.metadata.name):
            item.came_true = item.object_is(obj, change.type == "DELETED")
            if item.came_true and not item.waits:
                self._came_true(item)

    def _event_changed(self, change: WatchEvent) -> None:
        event = change.object
        if isinstance(event, Event) and change.type != "DELETED":
            about = event.involved_object
            for item in self._about(about.kind, about.namespace, about.name):
                if item.expect.event is not None and item.event_is(event):
                    self._came_true(item)

    def _begins(self, item: OpenExpectation) -> None:
        item.waits = False
        if item.came_true:
            self._came_true(item)

    def _came_true(self, item: OpenExpectation) -> None:
        self._decide(item, not item.expect.never, f"{item.seen} after {duration(self._clock.now() - self._start)}")

    def _time_is_up(self, item: OpenExpectation, end: int) -> None:
        self._decide(item, item.expect.never, f"{item.seen} after {duration(end)}")

    def _decide(self, item: OpenExpectation, met: bool, why: str) -> None:
        self._items(item).remove(item)
        for timer in item.timers:
            timer.cancel()
        pod = "/".join(item.expect.key) if item.expect.pod else ""
        if met:
            self.met.append(item.text)
            self._say(item.text, True, why, pod)
        else:
            self._failed("expectation", item.text, why, item.expect.place, pod)

    def _failed(self, kind: FailureKind, text: str, why: str, place: Place, pod: str) -> None:
        file, line = place
        at = self._clock.now() - self._start
        self.failures.append(Failure(kind=kind, text=text, why=why, file=file, line=line, pod=pod, at=at))
        self._say(text, False, why, pod)

    def _say(self, text: str, met: bool, why: str, pod: str) -> None:
        self._recorder.record(Expectation(pod=pod, expectation=text, met=met, why=why))
        self.on_verdict()

    def step_failed(self, text: str, why: str, place: Place = NOWHERE, pod: str = "") -> None:
        """A step that could not be taken fails the run like an expectation."""
        self._failed("step", text, why, place, pod)

    def undecided(self) -> tuple[str, ...]:
        return tuple(item.text for item in self._all())

    def close(self) -> None:
        """The run is over: what is open is decided by what was seen last."""
        for stop in self._stops:
            stop()
        for item in list(self._all()):
            self._decide(item, item.expect.never, f"{item.seen} at the end")
