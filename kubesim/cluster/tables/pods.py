"""The table row of a pod: ready containers, status, restarts.

Mirrors: pkg/printers/internalversion printers.go printPod
"""

from __future__ import annotations

from typing import Any

from kubesim.api.timestamps import parse_time
from kubesim.cluster.tables.table import Cell, JsonObject, TableContext, TableRules, columns, condition, dig, is_true
from kubesim.cluster.tables.texts import NONE
from kubesim.values import mutable

_TERMINAL = ("Succeeded", "Failed")


@mutable
class _Tally:
    """Sums over the container statuses."""

    ready: int = 0
    restarts: int = 0
    last_restart: int = 0  # microseconds, 0: never

    def count_restarts(self, status: JsonObject) -> None:
        self.restarts += status.get("restartCount", 0)
        finished = dig(status, "lastState.terminated.finishedAt")
        if finished:
            self.last_restart = max(self.last_restart, parse_time(finished))


def pod_cells(pod: JsonObject, context: TableContext) -> list[Cell]:
    reason, tally = pod_state(pod)
    restarts = str(tally.restarts)
    if tally.restarts and tally.last_restart:
        restarts += f" ({context.ago(tally.last_restart)} ago)"
    sidecars = [each for each in dig(pod, "spec.initContainers", ()) if _is_sidecar(each)]
    total = len(dig(pod, "spec.containers", ())) + len(sidecars)
    name = pod["metadata"]["name"]
    addresses = dig(pod, "status.podIPs", ())
    return [
        name,
        f"{tally.ready}/{total}",
        reason,
        restarts,
        context.age(pod),
        (addresses[0].get("ip") if addresses else "") or NONE,
        dig(pod, "spec.nodeName") or NONE,
        dig(pod, "status.nominatedNodeName") or NONE,
        _readiness_gates(pod),
    ]


def pod_state(pod: JsonObject) -> tuple[str, _Tally]:
    """The text of the column STATUS, and the counts."""
    phase = dig(pod, "status.phase", "")
    reason = dig(pod, "status.reason") or phase
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    tally, sidecars = _Tally(), _Tally()
    initial = _initial_reason(pod, tally, sidecars)
    reason = initial or reason
    if not initial or is_true(pod, "Initialized"):
        tally.restarts, tally.last_restart = sidecars.restarts, sidecars.last_restart
        reason = _reason_of_containers(pod, reason, tally)
    if dig(pod, "metadata.deletionTimestamp"):
        if dig(pod, "status.reason") == "NodeLost":
            reason = "Unknown"
        elif phase not in _TERMINAL:
            reason = "Terminating"
    return reason, tally


def _is_sidecar(container: JsonObject | None) -> bool:
    return container is not None and container.get("restartPolicy") == "Always"


def _initial_reason(pod: JsonObject, tally: _Tally, sidecars: _Tally) -> str:
    """The status text of the first unfinished init container; empty if all are done."""
    specs = {each["name"]: each for each in dig(pod, "spec.initContainers", ())}
    for number, status in enumerate(dig(pod, "status.initContainerStatuses", ())):
        is_sidecar = _is_sidecar(specs.get(status["name"]))
        tally.count_restarts(status)
        if is_sidecar:
            sidecars.count_restarts(status)
        ended = dig(status, "state.terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and status.get("started"):
            tally.ready += bool(status.get("ready"))
            continue
        waiting = dig(status, "state.waiting.reason", "")
        if ended is not None:
            return f"Init:{_end(ended)}"
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{number}/{len(specs)}"
    return ""


def _end(terminated: dict[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _reason_of_containers(pod: JsonObject, reason: str, tally: _Tally) -> str:
    """The status text from the containers, last to first: the first container's reason wins."""
    has_running, error = False, ""
    for status in reversed(dig(pod, "status.containerStatuses", ())):
        tally.count_restarts(status)
        waiting, ended = dig(status, "state.waiting.reason"), dig(status, "state.terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _end(ended)
            if ended.get("exitCode"):
                error = reason
        elif status.get("ready") and dig(status, "state.running") is not None:
            has_running = True
            tally.ready += 1
    if reason != "Completed":
        return reason
    if has_running and is_true(pod, "Ready"):
        return "Running"
    return error or ("NotReady" if has_running else reason)


def _readiness_gates(pod: JsonObject) -> str:
    gates = dig(pod, "spec.readinessGates", ())
    met = sum(is_true(pod, gate["conditionType"]) for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


POD = TableRules(
    columns("Name,Ready,Status,Restarts,Age", "IP,Node,Nominated Node,Readiness Gates"),
    pod_cells,
)
