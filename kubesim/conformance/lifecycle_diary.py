"""The trace of one life in the words of the corpus: calls, events, and what the API server showed of the pod.

The diary is the agent's event recorder and a sink of the runtime's calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.pod import ContainerStatus, Pod, PodStatus
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock
from kubesim.runtime.naming import container_field_path
from kubesim.trace import Record
from kubesim.trace.records import CriCall

LEAD = 60 * SECOND  # the agent has been running for a minute when the story begins
PROBE_COMMANDS = {"ready": "readinessFailsBetween", "live": "livenessFailsBetween", "start": "startupFailsBetween"}


class Diary:
    """The trace in the corpus' words. It is also the agent's event recorder and a sink of its trace."""

    def __init__(self, clock: LoopClock) -> None:
        self.entries: list[dict[str, Any]] = []
        self._clock = clock
        self._last_status: dict[str, Any] | None = None  # the last one written down
        self._open: tuple[int, dict[str, Any] | None] | None = None  # this instant's last write

    def add(self, kind: str, **fields: Any) -> None:
        self.close_instant()
        self.entries.append({"t": self._now(), "kind": kind, **fields})

    def close_instant(self) -> None:
        """Write down how an instant that has passed left the pod: gone, or with a status that says something new."""
        if self._open is None or self._open[0] == self._clock.now():
            return
        moment, view = self._open
        self._open = None
        if view is None:
            self.entries.append({"t": self._seconds(moment), "kind": "api", "what": "podRemoved"})
        elif view != self._last_status:
            self._last_status = view
            self.entries.append({"t": self._seconds(moment), "kind": "status", **view})

    def _now(self) -> float:
        return self._seconds(self._clock.now())

    def _seconds(self, moment: int) -> float:
        since = moment - self._clock.start - LEAD
        # Most moments are whole milliseconds; rounding to so many digits goes through text.
        return since / SECOND if since % MILLISECOND == 0 else round(since / SECOND, 3)

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        if reason == "Pulled":
            message = message.partition(" in ")[0] if message.startswith("Successfully") else message
        fields = {"type": type, "reason": reason, "message": message}
        if container:
            fields["fieldPath"] = container_field_path(pod, container)
        self.add("event", **fields)

    def record(self, record: Record) -> None:
        if isinstance(record, CriCall) and record.call in _CRI_ENTRIES:
            fields = _CRI_ENTRIES[record.call](record.args)
            if fields is not None:
                self.add("cri", call=record.call, **fields)

    def seen(self, pod: Pod | None) -> None:
        """The pod at the API server after a write; None when it is gone. Of several in one instant the last counts."""
        self.close_instant()
        self._open = (self._clock.now(), None if pod is None else status_view(pod.status))


_CRI_ENTRIES: dict[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {
    "RunPodSandbox": lambda a: {"attempt": a["attempt"]} | ({"uid": a["uid"]} if a["uid"] != "uid-1" else {}),
    "StopPodSandbox": lambda a: {"id": a["id"]},
    "RemovePodSandbox": lambda a: {"id": a["id"]},
    "CreateContainer": lambda a: {"attempt": a["attempt"], "name": a["name"], "sandbox": a["sandbox"]},
    "StartContainer": lambda a: {"id": a["id"]},
    "StopContainer": lambda a: {"id": a["id"], "timeout": a["timeout"]},
    "RemoveContainer": lambda a: {"id": a["id"]},
    "PullImage": lambda a: {"image": a["image"]},
    "ExecSync": lambda a: None if a["cmd"][0] in PROBE_COMMANDS else {"cmd": " ".join(a["cmd"]), "id": a["id"]},
}


def status_view(status: PodStatus) -> dict[str, Any]:
    view: dict[str, Any] = {
        "phase": status.phase,
        "conditions": {c.type: c.status + (f"/{c.reason}" if c.reason else "") for c in status.conditions},
        "containers": {c.name: _container_view(c) for c in status.container_statuses},
    }
    if status.init_container_statuses:
        view["initContainers"] = {c.name: _container_view(c) for c in status.init_container_statuses}
    if status.reason:
        view["reason"] = status.reason
    if status.pod_ip:
        view["podIP"] = status.pod_ip
    return view


def _container_view(status: ContainerStatus) -> dict[str, Any]:
    view: dict[str, Any] = {"ready": status.ready, "restartCount": status.restart_count}
    if status.started is not None:
        view["started"] = status.started
    for name, state in (("state", status.state), ("lastState", status.last_state)):
        if state.terminated is not None:
            view[name] = f"terminated/{state.terminated.exit_code}/{state.terminated.reason}"
        elif state.running is not None:
            view[name] = "running"
        elif state.waiting is not None:
            view[name] = f"waiting/{state.waiting.reason}"
    return view
