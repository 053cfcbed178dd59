"""The steps that wait for a condition: each is executed once, when its condition is true for the first time.

A condition that is not true by its time, or by the end of the run, is a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.clock import LoopClock
from kubesim.cluster.store.watches import WatchEvent
from kubesim.golang.text import duration
from kubesim.scenario.language.operations.when_items import When
from kubesim.scenario.language.step_items import Step
from kubesim.scenario.play.steps.conditions import ask, counted, is_about
from kubesim.scenario.play.world import World
from kubesim.values import mutable, part

if TYPE_CHECKING:
    from kubesim.scenario.faults.interceptor import Interceptor


@mutable(eq=False)
class _WaitingStep:
    step: Step
    when: When
    seen: str
    # How often each Event was emitted, by the name of the Event object.
    events: dict[str, int] = field(default_factory=dict)
    due: bool = False  # its condition was true
    timer: asyncio.TimerHandle | None = None


@part
class WhenSteps:
    """Waits for the conditions of steps.

    `take` executes a step; `fail` gets a step whose condition never became true, and why; `changed` is called after
    both.
    """

    clock: LoopClock
    world: World
    interceptor: Interceptor | None
    take: Callable[[Step], None]
    fail: Callable[[Step, str], None]
    changed: Callable[[], None]
    _waiting: list[_WaitingStep] = field(default_factory=list)
    _stops: list[Callable[[], None]] = field(default_factory=list)
    _start: int = 0

    def begin(self, steps: Sequence[Step]) -> None:
        self._start = self.clock.now()
        kinds: dict[str, None] = {}
        for step in steps:
            when = step.when
            assert when is not None
            seen = f"{when.operation} did not happen" if when.operation else "no such object was seen"
            waiting = _WaitingStep(step, when, seen)
            self._waiting.append(waiting)
            if step.by is not None:
                waiting.timer = self.clock.call_at(self._start + step.by + 1, self._too_late, waiting)
            if when.operation:
                self._await_operation(waiting)
            else:
                kinds[when.kind] = None
        self._stops += [self.world.watch(kind, self._object_changed) for kind in kinds]
        if any(waiting.when.event is not None for waiting in self._waiting):
            self._stops.append(self.world.watch("Event", self._event_changed))
        for kind in kinds:
            for obj in self.world.objects(kind):
                self._check(obj, deleted=False)

    def left(self) -> int:
        """The number of steps that are still waiting."""
        return len(self._waiting)

    def latest(self) -> int:
        """The latest deadline of a condition."""
        return max((self._start + waiting.step.by + 1 for waiting in self._waiting if waiting.step.by), default=0)

    def close(self) -> None:
        """End the run: conditions that never became true are failures."""
        for stop in self._stops:
            stop()
        for waiting in list(self._waiting):
            if waiting.due:
                at = duration(self.clock.now() - self._start)
                self._remove(waiting, f"the run ended, at {at}, before its delay was over")
            else:
                self._remove(waiting, f"its condition never became true: {waiting.seen}")

    def _await_operation(self, waiting: _WaitingStep) -> None:
        from kubesim.scenario.faults.interceptor import AwaitedOperation

        assert self.interceptor is not None
        happens = partial(self._condition_met, waiting)
        self.interceptor.awaited.append(AwaitedOperation(waiting.when, waiting.when.count, happens))

    def _object_changed(self, change: WatchEvent) -> None:
        self._check(change.object, deleted=change.type == "DELETED")

    def _check(self, obj: ApiObject, *, deleted: bool) -> None:
        metadata = obj.metadata
        for waiting in list(self._waiting):
            when = waiting.when
            if when.operation or when.event is not None or waiting.due:
                continue
            if is_about(when, obj.kind, metadata.namespace, metadata.name):
                true, waiting.seen = ask(when, obj, deleted)
                if true:
                    self._condition_met(waiting)

    def _event_changed(self, change: WatchEvent) -> None:
        event = change.object
        if not isinstance(event, Event) or change.type == "DELETED":
            return
        about = event.involved_object
        for waiting in list(self._waiting):
            when, name = waiting.when, event.metadata.name
            if when.event is None or waiting.due or not is_about(when, about.kind, about.namespace, about.name):
                continue
            waiting.events[name] = counted(when, event, waiting.events.get(name, 0))
            emitted = sum(waiting.events.values())
            waiting.seen = f"Event {when.event} was emitted {emitted} times"
            if emitted >= when.count:
                self._condition_met(waiting)

    def _condition_met(self, waiting: _WaitingStep) -> None:
        """Execute the step later, at the same instant if it has no delay: the task that changed the object continues
        first. An operation may also happen after the time of its step was over."""
        if waiting.due:
            return
        waiting.due = True
        if waiting.timer is not None:
            waiting.timer.cancel()
        waiting.timer = self.clock.call_at(self.clock.now() + waiting.step.delay, self._take, waiting)

    def _take(self, waiting: _WaitingStep) -> None:
        self._waiting.remove(waiting)
        self.take(waiting.step)
        self.changed()

    def _too_late(self, waiting: _WaitingStep) -> None:
        self._remove(waiting, f"its condition did not become true by {duration(waiting.step.by or 0)}: {waiting.seen}")

    def _remove(self, waiting: _WaitingStep, why: str) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()
        waiting.due = True
        self._waiting.remove(waiting)
        self.fail(waiting.step, why)
        self.changed()
