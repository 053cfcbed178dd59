"""The row of a pod. The cases re-tell upstream's TestPrintPod and its siblings: READY, STATUS and RESTARTS."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.cluster.tables.rules import table_of
from kubesim.cluster.tables.table import TableContext

NOW = parse_time("2026-01-01T01:00:00Z")


def status(state: dict[str, Any] | None = None, restarts: int = 0, *, last: str = "", **more: Any) -> dict[str, Any]:
    """A container status; `last`: when the instance before ended, as a time of the hour."""
    ended = {"terminated": {"finishedAt": f"2026-01-01T{last}Z"}} if last else {}
    return {"state": state or {}, "restartCount": restarts, "lastState": ended, **more}


RUNNING: dict[str, Any] = {"running": {}}
DONE: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}
SIDECAR = {"restartPolicy": "Always"}
READY = [{"type": "Ready", "status": "True"}]


def waits(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def ends(code: int, reason: str = "", signal: int = 0) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}


def pod(
    phase: str = "podPhase",
    containers: tuple[dict[str, Any], ...] = (),
    *,
    inits: tuple[tuple[dict[str, Any], dict[str, Any] | None], ...] = (),
    count: int = 2,
    deleted: bool = False,
    conditions: list[dict[str, Any]] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "test", "creationTimestamp": "2026-01-01T00:59:00Z"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:59:30Z"
    spec = {
        "containers": [{"name": f"c{n}"} for n in range(count)],
        "initContainers": [{"name": f"i{n}", **extra} for n, (extra, _) in enumerate(inits)],
    }
    initial = [{"name": f"i{n}", **each} for n, (_, each) in enumerate(inits) if each is not None]
    regular = [{"name": f"c{n}", **each} for n, each in enumerate(containers)]
    found = {"phase": phase, "conditions": conditions or [], **fields}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {**found, "initContainerStatuses": initial, "containerStatuses": regular},
    }


UP = status(RUNNING, ready=True)

CASES: list[tuple[str, dict[str, Any], str]] = [
    ("phase", pod("Pending"), "0/2 Pending 0"),
    ("counted-restarts", pod("podPhase", (status(RUNNING, 6, ready=True), status(None, 5))), "1/2 podPhase 11"),
    ("first-container-speaks", pod("Running", (status(waits("ContainerWaitingReason"), 3), UP)),
     "1/2 ContainerWaitingReason 3"),
    ("reason-of-the-pod", pod("Failed", reason="Evicted"), "0/2 Evicted 0"),
    ("gated", pod("Pending", conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]),
     "0/2 SchedulingGated 0"),
    ("signal", pod("Running", (status(ends(137, signal=9)), UP)), "1/2 Signal:9 0"),
    ("exit-code", pod("Running", (status(ends(3)), UP)), "1/2 ExitCode:3 0"),
    ("one-done-and-ready", pod("Running", (status(DONE), UP), conditions=READY), "1/2 Running 0"),
    ("one-done-not-ready", pod("Running", (status(DONE), UP)), "1/2 NotReady 0"),
    ("done-beside-error", pod("Running", (status(DONE), status(ends(1, "Error")))), "0/2 Error 0"),
    ("all-done", pod("Succeeded", (status(DONE), status(DONE))), "0/2 Completed 0"),
    ("no-container-status", pod("Pending", (status(),), count=1), "0/1 Pending 0"),
    ("init-none-ended", pod("Pending", inits=(({}, status(RUNNING)), ({}, status()))), "0/2 Init:0/2 0"),
    ("init-one-ended", pod("Pending", inits=(({}, status(DONE)), ({}, status(RUNNING)))), "0/2 Init:1/2 0"),
    ("init-waits-for-the-pod", pod("Pending", inits=(({}, status(waits("PodInitializing"))),)), "0/2 Init:0/1 0"),
    ("init-fails", pod("Pending", inits=(({}, status(ends(1, "Error"), 3)),)), "0/2 Init:Error 3"),
    ("init-by-signal", pod("Pending", inits=(({}, status(ends(137, signal=9))),)), "0/2 Init:Signal:9 0"),
    ("init-exit-code", pod("Pending", inits=(({}, status(ends(7))),)), "0/2 Init:ExitCode:7 0"),
    ("init-backs-off", pod("Pending", inits=(({}, status(waits("CrashLoopBackOff"), 2, last="00:59:40")),)),
     "0/2 Init:CrashLoopBackOff 2 (20s ago)"),
    ("inits-done-restarts-forgotten", pod("Running", (status(RUNNING, 1, ready=True), UP),
     inits=(({}, status(DONE, 4)),)), "2/2 Running 1"),
    ("initialized-although-one-runs-again", pod("Running", (UP, UP), inits=(({}, status(RUNNING, 2)),),
     conditions=[{"type": "Initialized", "status": "True"}]), "2/2 Init:0/1 0"),
    ("sidecar-counts", pod("Running", (UP,), inits=((SIDECAR, status(RUNNING, ready=True, started=True)),), count=1),
     "2/2 Running 0"),
    ("sidecar-not-started", pod("Pending", inits=((SIDECAR, status(RUNNING, started=False)),), count=1),
     "0/2 Init:0/1 0"),
    ("sidecar-restarts-count", pod("Running", (status(RUNNING, 1, ready=True, last="00:50:00"),),
     inits=((SIDECAR, status(RUNNING, 2, ready=True, started=True, last="00:59:00")),), count=1),
     "2/2 Running 3 (60s ago)"),
    ("last-restart-of-all", pod("Running", (status(waits("CrashLoopBackOff"), 3, last="00:59:40"),
     status(RUNNING, 1, ready=True, last="00:10:00"))), "1/2 CrashLoopBackOff 4 (20s ago)"),
    ("deleted", pod("Running", (UP, UP), deleted=True), "2/2 Terminating 0"),
    ("deleted-after-its-end", pod("Succeeded", (status(DONE), status(DONE)), deleted=True), "0/2 Completed 0"),
    ("deleted-on-a-lost-node", pod("Running", (UP, UP), deleted=True, reason="NodeLost"), "2/2 Unknown 0"),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "row"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_ready_status_and_restarts(pod: dict[str, Any], row: str) -> None:
    name, *cells = table_of("Pod").cells(pod, TableContext(NOW))[:5]
    assert (name, " ".join(map(str, cells))) == ("test", f"{row} 60s")


def test_wide_columns() -> None:
    gates = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
    shown = pod("Running", (UP, UP), conditions=[{"type": "example.com/a", "status": "True"}])
    assert table_of("Pod").cells(shown, TableContext(NOW))[5:] == ["<none>"] * 4
    shown["spec"].update(nodeName="node-1", readinessGates=gates)
    shown["status"].update(podIPs=[{"ip": "10.0.0.7"}, {"ip": "fd00::7"}], nominatedNodeName="node-2")
    assert table_of("Pod").cells(shown, TableContext(NOW))[5:] == ["10.0.0.7", "node-1", "node-2", "1/2"]


def test_ages_go_by_the_moment() -> None:
    assert [table_of("Pod").cells(pod(), TableContext(NOW + n * SECOND))[4] for n in (0, 59, 540)] == [
        "60s",
        "119s",
        "10m",
    ]
