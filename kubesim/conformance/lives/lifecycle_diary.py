"""The trace of one case in the corpus' format: calls, Events, and the pod at the API server.

The diary is the agent's event recorder, and the runtime adds its calls.
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import ContainerStatus, Pod, PodStatus
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock
from kubesim.runtime.kuberuntime.naming import container_field_path

LEAD = 60 * SECOND  # the agent has been running for a minute before the scenario starts


class Diary:
    """The trace of one case; also the agent's event recorder."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._entries: list[dict[str, Any]] = []  # with their moments
        self._last_status: dict[str, Any] | None = None  # the last recorded state
        self._open: tuple[int, PodStatus | None] | None = None  # the last write at this instant; None: the pod is gone

    def add(self, kind: str, /, **fields: Any) -> None:
        now = self._clock.now()
        if self._open is not None:
            self.close_instant(now)
        self._entries.append({"t": now, "kind": kind, **fields})

    def close_instant(self, now: int) -> None:
        """Record the pod at the end of an instant: gone, or with a changed status."""
        if self._open is None or self._open[0] == now:
            return
        moment, status = self._open
        self._open = None
        if status is None:
            self._entries.append({"t": moment, "kind": "api", "what": "podRemoved"})
            return
        view = status_view(status)
        if view != self._last_status:
            self._last_status = view
            self._entries.append({"t": moment, "kind": "status", **view})

    def finished(self) -> list[dict[str, Any]]:
        """All entries, with times in seconds since the scenario's start."""
        begin = self._clock.start + LEAD
        for entry in self._entries:
            since = entry["t"] - begin
            # Most times are whole milliseconds; only text rounds to this many digits exactly.
            entry["t"] = since / SECOND if since % MILLISECOND == 0 else round(since / SECOND, 3)
        return self._entries

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        if reason == "Pulled":
            message = message.partition(" in ")[0] if message.startswith("Successfully") else message
        if container:
            path = container_field_path(pod, container)
            self.add("event", type=type, reason=reason, message=message, fieldPath=path)
        else:
            self.add("event", type=type, reason=reason, message=message)

    def seen(self, pod: Pod | None) -> None:
        """The pod at the API server after a write; None when it is gone. The last write of an instant counts."""
        now = self._clock.now()
        self.close_instant(now)
        self._open = (now, None if pod is None else pod.status)


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
