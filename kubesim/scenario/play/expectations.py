"""Judges the expectations of a scenario: each is decided once, met or failed, with a reason in words.

The judge watches objects and Events at the API server, as a user with `kubectl get --watch` would; log lines and calls
come from the trace. The decisions are pure functions in `scenario/expecting`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.clock import LoopClock
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.golang.text import duration
from kubesim.scenario.ending.failure import Failure, FailureKind
from kubesim.scenario.expecting.forms import at_moment, comes_early, is_judged_last, when_over
from kubesim.scenario.expecting.watched import WatchedQuestion
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.play.open_expectation import OpenExpectation
from kubesim.trace import Recorder
from kubesim.trace.records import Expectation, Record
from kubesim.values import replace

Location = tuple[str, int]  # a file and a line of it; 0: no line
NOWHERE = ("", 0)
Pair = tuple[OpenExpectation, WatchedQuestion]


class Judge:
    """All expectations of one run. `met` and `failures` are in the order of their decisions.

    `story` returns the last lines of the timeline of a pod, for failures.
    """

    def __init__(
        self,
        clock: LoopClock,
        recorder: Recorder,
        store: Store,
        expectations: Sequence[Expect],
        story: Callable[[str], tuple[str, ...]] = lambda pod: (),
    ) -> None:
        self._clock = clock
        self._recorder = recorder
        self._story = story
        self._start = clock.now()
        self._open = [OpenExpectation(expect) for expect in expectations]
        self._names: dict[str, dict[str, None]] = {}  # of observed objects, by kind
        self.met: list[str] = []
        self.failures: list[Failure] = []
        self._undecided: list[str] = []
        self.on_verdict: Callable[[], None] = lambda: None
        self._index()
        kinds = {watched.kind: None for item in self._open for watched in item.watched if watched.kind}
        self._stops = [store.watch(kind, self._object_changed) for kind in kinds]
        if expectations:
            self._stops.append(store.watch("Event", self._event_changed))
        if any(expect.needs_trace for expect in expectations):
            recorder.add(self)
        for item in list(self._open):
            self._set_timers(item)
        for kind in kinds:
            for obj in store.list(kind):
                self._see(obj, gone=False)

    def _index(self) -> None:
        """Index the questions by object: those with exact names, then those that are compared one by one."""
        self._by_name: dict[tuple[str, str, str], list[Pair]] = {}
        self._others: list[Pair] = []
        self._traced: list[Pair] = []
        for item in self._open:
            for watched in item.watched:
                pair = (item, watched)
                if watched.asked in ("log", "call"):
                    self._traced.append(pair)
                if watched.target.is_glob or watched.asked == "endpoints":
                    self._others.append(pair)
                elif watched.kind:
                    self._by_name.setdefault((watched.kind, *watched.target.key), []).append(pair)

    def _set_timers(self, item: OpenExpectation) -> None:
        expect = item.expect
        if expect.between is not None:
            item.timers.append(self._clock.call_at(self._start + expect.between[0], self._begin, item))
        elif expect.within is None:
            item.begin(0)
        if expect.deadline is not None:
            self._close_at(item, expect.deadline)

    def _close_at(self, item: OpenExpectation, moment: int) -> None:
        """Decide the expectation just after this time, because changes at the time itself still count."""
        item.timers.append(self._clock.call_at(self._start + moment + 1, self._time_is_up, item, moment))

    @property
    def _now(self) -> int:
        return self._clock.now() - self._start

    def waits(self, *, before_deletion: bool) -> bool:
        """Whether expectations are still open. Before pods are deleted, only those with a deadline count, except
        `gone`."""
        return any(self._waits(item, before_deletion) for item in self._open if item.failed_late is None)

    def _waits(self, item: OpenExpectation, before_deletion: bool) -> bool:
        expect = item.expect
        if before_deletion:
            return item.closes is not None and expect.gone is None
        if item.closes is not None:
            return True
        if expect.never or expect.always:
            return False
        return not (is_judged_last(expect) and item.facts.holds)

    # -- what happens -------------------------------------------------------------------------------------------

    def _about(self, kind: str, namespace: str, name: str) -> list[Pair]:
        found = self._by_name.get((kind, namespace, name), [])
        if not self._others:
            return list(found)
        return [*found, *(pair for pair in self._others if pair[1].is_about(kind, namespace, name))]

    def _object_changed(self, change: WatchEvent) -> None:
        self._see(change.object, gone=change.type == "DELETED")

    def _see(self, obj: ApiObject, *, gone: bool) -> None:
        self._names.setdefault(obj.kind, {})[obj.metadata.name] = None
        pairs = self._about(obj.kind, obj.metadata.namespace, obj.metadata.name)
        if obj.kind == "EndpointSlice":
            pairs += [pair for pair in self._others if pair[1].asked == "endpoints"]
        for _, watched in pairs:
            watched.object_changed(obj, gone)
        self._observe(pairs)

    def _event_changed(self, change: WatchEvent) -> None:
        event = change.object
        if isinstance(event, Event) and change.type != "DELETED":
            about = event.involved_object
            pairs = self._about(about.kind, about.namespace, about.name)
            self._observe([pair for pair in pairs if pair[1].asked == "event" and pair[1].event_changed(event)])

    def record(self, record: Record) -> None:
        """Handle a record: the judge is a sink of the trace if an expectation is about calls or log lines."""
        namespace, _, name = record.pod.partition("/")
        fitting = []
        for pair in self._traced:
            target = pair[1].target
            about = not target.kind or (
                target.key[1] == record.node if target.kind == "Node" else pair[1].is_about("Pod", namespace, name)
            )
            if about and pair[1].record(record):
                fitting.append(pair)
        self._observe(fitting)

    def _observe(self, pairs: Sequence[Pair]) -> None:
        for item in dict.fromkeys(item for item, _ in pairs):
            item.note_order(self._now)
            if item.opened is None and item.origins and item.has_origin():
                item.begin(self._now)
                assert item.expect.within is not None
                item.closes = self._now + item.expect.within
                self._close_at(item, item.closes)
            self._judge(item)

    # -- deciding -----------------------------------------------------------------------------------------------

    def _begin(self, item: OpenExpectation) -> None:
        item.begin(self._now)
        self._judge(item)

    def _judge(self, item: OpenExpectation) -> None:
        if item not in self._open:
            return
        if item.failed_late is not None:
            self._came_late(item)
        elif item.opened is None:
            if comes_early(item.expect, item.facts):
                self._decide(item, False, item.why(f"already at {_moment(self._now)}"))
        else:
            decision = at_moment(item.expect, item.facts)
            if decision is not None:
                self._decide(item, decision, item.why(f"at {_moment(self._now)}"))

    def _time_is_up(self, item: OpenExpectation, moment: int) -> None:
        met = when_over(item.expect, item.facts)
        expect = item.expect
        may_come = not met and not expect.never and not expect.always and not is_judged_last(expect)
        if may_come and not item.facts.holds:
            item.failed_late = len(self.failures)
        self._decide(item, met, item.why(f"at {_moment(moment)}"))

    def _came_late(self, item: OpenExpectation) -> None:
        """Handle an expectation that failed at its deadline and is true now."""
        if item.facts.holds:
            self._open.remove(item)
            assert item.failed_late is not None
            failure = self.failures[item.failed_late]
            self.failures[item.failed_late] = replace(failure, closest=f"it was true at {_moment(self._now)}")

    def _decide(self, item: OpenExpectation, met: bool, why: str) -> None:
        if item.failed_late is None:
            self._open.remove(item)
        for timer in item.timers:
            timer.cancel()
        pod = "/".join(item.expect.key) if item.expect.pod else ""
        if met:
            self.met.append(item.text)
            self._say(item.text, True, why, pod)
        else:
            self._fail("expectation", item.text, why, item.expect.location, pod, self._closest(item))

    def _closest(self, item: OpenExpectation) -> str:
        near = next((watched.near for watched in item.watched if watched.near), "")
        target = item.expect
        if near or not target.kind or any(watched.facts.existed for watched in item.watched):
            return near
        names = difflib.get_close_matches(target.key[1], self._names.get(target.kind, {}), n=1)
        return f"{target.kind} {names[0]} was seen" if names else ""

    def _fail(self, kind: FailureKind, text: str, why: str, location: Location, pod: str, closest: str = "") -> None:
        file, line = location
        records = self._story(pod) if pod else ()
        self.failures.append(Failure(kind, text, why, file, line, pod, self._now, closest, records))
        self._say(text, False, why, pod)

    def _say(self, text: str, met: bool, why: str, pod: str) -> None:
        self._recorder.record(Expectation(pod=pod, expectation=text, met=met, why=why))
        self.on_verdict()

    def step_failed(self, text: str, why: str, location: Location = NOWHERE, pod: str = "") -> None:
        """A step that failed: it fails the run, as an expectation does."""
        self._fail("step", text, why, location, pod)

    def did_not_converge(self, text: str, why: str, pod: str = "") -> None:
        """Something that is not idle at the end of the run."""
        self._fail("convergence", text, why, NOWHERE, pod)

    def _waiting(self) -> Iterator[OpenExpectation]:
        return (item for item in self._open if item.failed_late is None)

    def undecided(self) -> tuple[str, ...]:
        return (*self._undecided, *(item.text for item in self._waiting()))

    def close(self) -> None:
        """End the run: the last observation decides open expectations."""
        for stop in self._stops:
            stop()
        for item in list(self._waiting()):
            expect = item.expect
            cut_short = (item.closes or 0) > self._now and (expect.never or expect.always)
            if cut_short:  # by --until: the rest is unknown
                self._open.remove(item)
                self._undecided.append(item.text)
            else:
                self._decide(item, item.opened is not None and when_over(expect, item.facts), item.why("at the end"))


def _moment(t: int) -> str:
    """A time in messages, to the millisecond."""
    return duration(round(t, -3))
