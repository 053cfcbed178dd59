"""An expectation that is not decided: what it asks, and what has been seen of the objects that it is about."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.pod import ContainerStatus, Pod
from kubesim.golang.text import duration
from kubesim.scenario.language.expect_items import Expect

_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")


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
    elif expect.field is not None:
        wanted = f"at least {expect.at_least}" if expect.at_least is not None else f"is {_shown(expect.equals)}"
        what = f"{expect.field} {wanted}"
    else:
        what = "gone"
    container = f", container {expect.container}" if expect.container else ""
    by = "" if expect.by is None else f" by {duration(expect.by)}"
    if expect.between is not None:
        by = f" between {duration(expect.between[0])} and {duration(expect.between[1])}"
    return f"{expect.text}{container}: {'never ' if expect.never else ''}{what}{by}"


def _condition(expect: Expect) -> tuple[str, str]:
    type, _, status = (expect.condition or "").partition("=")
    return type, status or "True"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class OpenExpectation:
    """`seen` says in words what was seen last."""

    def __init__(self, expect: Expect) -> None:
        self.expect = expect
        self.text = describe(expect)
        self.seen = "no such pod was seen" if expect.pod else "no such object was seen"
        self.events: dict[str, int] = {}  # by name of the Event: how often it was emitted
        self.timers: list[asyncio.TimerHandle] = []
        self.waits = expect.between is not None  # what is seen does not count yet
        self.came_true = False  # by what was seen last

    def object_is(self, obj: ApiObject, gone: bool) -> bool:
        """Look at an object; has what is expected come true?"""
        expect = self.expect
        if expect.gone is not None:
            self.seen = "it is gone" if gone else "it is still there"
            return gone
        if expect.event is not None:
            self._count_events()
            return False
        if expect.field is not None:
            return self._field_is(obj, gone)
        if isinstance(obj, Pod):
            return self._pod_is(obj, gone)
        type, wanted = _condition(expect)
        conditions = (obj.to_json().get("status") or {}).get("conditions") or ()
        found = next((c.get("status", "") for c in conditions if c.get("type") == type), "not set")
        self.seen = f"{type} is {found}" + (", and it is gone" if gone else "")
        return bool(not gone and found == wanted)

    def _field_is(self, obj: ApiObject, gone: bool) -> bool:
        expect = self.expect
        found = list(fields_of(obj.to_json(), expect.field or ""))
        shown = ", ".join(map(_shown, found)) or "not set"
        self.seen = f"it is {shown}" + (", and the object is gone" if gone else "")
        if gone:
            return False
        if expect.at_least is not None:
            return any(isinstance(value, int | float) and value >= expect.at_least for value in found)
        return expect.equals in found or (not found and not expect.equals)

    def _pod_is(self, pod: Pod, gone: bool) -> bool:
        expect, status = self.expect, pod.status
        if expect.phase is not None:
            self.seen = f"the phase is {status.phase}" + (", and the pod is gone" if gone else "")
            return not gone and status.phase == expect.phase
        if expect.condition is not None:
            type, wanted = _condition(expect)
            found = next((c.status for c in status.conditions if c.type == type), "not set")
            self.seen = f"{type} is {found}" + (", and the pod is gone" if gone else "")
            return not gone and found == wanted
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
        self.events[event.metadata.name] = times(event)
        return self._count_events() >= expect.count

    def _count_events(self) -> int:
        emitted = sum(self.events.values())
        counts = {0: "the Event was not emitted", 1: "the Event was emitted once"}
        self.seen = counts.get(emitted, f"the Event was emitted {emitted} times")
        return emitted


def times(event: Event) -> int:
    """How often an Event was emitted; the scheduler's have no count, and a series once they are repeated."""
    return event.count or (event.series or {}).get("count", 1)


def _container_statuses(pod: Pod) -> Iterable[ContainerStatus]:
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)


def fields_of(value: Any, path: str) -> Iterator[Any]:
    """The values at a path; none if it is not set.

    `status.readyReplicas`, `metadata.labels[app.kubernetes.io/name]`, `status.conditions[0].type`, and of lists also
    `status.conditions[type=Ready].status` and `endpoints[*].conditions.ready`.
    """
    values = [value]
    for name, key in _STEP.findall(path):
        values = [found for item in values for found in _inside(item, name or key)]
    return (found for found in values if found is not None)


def _inside(value: Any, step: str) -> list[Any]:
    if isinstance(value, dict):
        return [value[step]] if step in value else []
    if not isinstance(value, list):
        return []
    key, equals, wanted = step.partition("=")
    if equals:
        return [item for item in value if isinstance(item, dict) and str(item.get(key, "")) == wanted]
    if step == "*":
        return value
    return value[int(step) : int(step) + 1] if step.isdigit() else []
