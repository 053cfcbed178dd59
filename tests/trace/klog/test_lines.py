"""The kubelet's log lines for a record."""

from __future__ import annotations

import pytest

from kubesim.trace import records as r
from kubesim.trace.klog.causes import Causes
from kubesim.trace.klog.line import KlogLine
from kubesim.trace.klog.lines import lines
from kubesim.trace.records import Record

WEB = {"pod": "default/web", "podUID": "u1"}


def logged(*records: Record) -> list[KlogLine]:
    """The lines of the last record; each is caused by the one before it."""
    causes = Causes()
    causes.see(r.StatusSet(seq=1, pod="default/web", uid="u1", node="node-1"))
    found: list[KlogLine] = []
    for seq, record in enumerate(records, start=2):
        record.seq, record.cause = seq, seq - 1 if seq > 2 else None
        causes.see(record)
        found = list(lines(record, causes))
    return found


def one(*records: Record) -> tuple[str, int, str, dict[str, object]]:
    (line,) = logged(*records)
    return line.caller, line.v, line.message, dict(line.pairs)


@pytest.mark.parametrize(
    ("op", "number", "v"), [("ADD", 2709, 2), ("UPDATE", 2716, 2), ("REMOVE", 2719, 2), ("RECONCILE", 2722, 4),
                            ("DELETE", 2725, 2)])  # fmt: skip
def test_the_sync_loop_names_the_operation(op: str, number: int, v: int) -> None:
    pods = ("default/web",)
    handled = (r.ConfigUpdate(op=op, source="api", pods=pods), r.LoopSelect(channel="config"), r.Handler(pods=pods))
    assert one(*handled) == (f"kubelet/kubelet.go:{number}", v, f"SyncLoop {op}", {"source": "api", "pods": pods})


@pytest.mark.parametrize(
    ("probe", "result", "status"),
    [
        ("liveness", "failure", "unhealthy"),
        ("readiness", "success", "ready"),
        ("readiness", "failure", "not ready"),
        ("startup", "success", "started"),
    ],
)
def test_the_sync_loop_names_the_probe(probe: str, result: str, status: str) -> None:
    outcome = r.ProbeOutcome(pod="default/web", uid="u1", probe=probe, result=result)
    found = one(outcome, r.LoopSelect(channel=probe), r.Handler(name="HandlePodSyncs", pods=("default/web",)))
    pairs = {"probe": probe, "status": status, "pod": "default/web"}
    assert found == ("kubelet/kubelet.go:2826", 1, "SyncLoop (probe)", pairs)


def test_ticks() -> None:
    synced = r.Handler(name="HandlePodSyncs", pods=("default/web", "default/b"))
    pairs = {"total": 2, "pods": ("default/web", "default/b")}
    assert one(r.LoopSelect(channel="sync"), synced) == ("kubelet/kubelet.go:2756", 4, "SyncLoop (SYNC) pods", pairs)
    cleaned = one(r.Handler(name="HandlePodCleanups", pods=("default/web",)))
    assert cleaned == ("kubelet/kubelet.go:2803", 4, "SyncLoop (housekeeping)", {})


def test_probes() -> None:
    def outcome(why: str) -> r.ProbeOutcome:
        return r.ProbeOutcome(
            pod="default/web", uid="u1", container="main", probe="readiness", result="failure", why=why
        )

    pairs = {"probeType": "Readiness", **WEB, "containerName": "main", "probeResult": "failure"}
    failed = one(outcome("readiness of main failed 3 times in a row"))
    assert failed == ("prober/prober.go:122", 1, "Probe failed", pairs)
    assert logged(outcome("readiness of main begins as failure")) == []


@pytest.mark.parametrize(
    ("why", "message"),
    [
        (
            "the pod must terminate: it was deleted at the API server",
            "Pod is marked for graceful deletion, begin teardown",
        ),
        ("the pod must terminate: the kubelet evicts it", "Pod is being evicted by the kubelet, begin teardown"),
        ("the pod must terminate: the kubelet kills it", "Pod is being removed by the kubelet, begin teardown"),
        ("the pod must terminate: its phase is Failed", "Pod is in a terminal phase (success/failed), begin teardown"),
        ("the pod must terminate: it is running, but no source lists it", "Pod is orphaned and must be torn down"),
    ],
)
def test_a_worker_has_the_reason_why_it_ends_a_pod(why: str, message: str) -> None:
    _, v, said, pairs = one(r.WorkerState(pod="default/web", uid="u1", state="terminating", why=why))
    assert (v, said, pairs) == (4, message, WEB)


def test_the_end_of_a_sync() -> None:
    failed = logged(r.SyncEnd(pod="default/web", uid="u1", sync="SyncPod", error="no", requeue=10))
    assert [(line.message, line.is_error) for line in failed] == [
        ("SyncPod exit", False),
        ("Error syncing pod, skipping", True),
        ("Processing pod event done", False),
    ]
    assert dict(failed[1].pairs) == {"err": "no", **WEB}
    cancelled = logged(r.SyncEnd(pod="default/web", uid="u1", sync="SyncPod", error="volumes: context canceled"))
    assert (cancelled[1].message, cancelled[1].v) == ("Sync exited with context cancellation error", 2)
    ended = logged(r.SyncEnd(pod="default/web", uid="u1", sync="SyncPod", requeue=0))
    assert ended[0].pairs["isTerminal"] is True


def test_a_failed_call_is_an_error_of_client_and_manager() -> None:
    call = r.CriCall(pod="default/web", call="RunPodSandbox", args={"attempt": 0, "uid": "u1"})
    found = logged(call, r.CriReturn(pod="default/web", call="RunPodSandbox", error="no network"))
    assert [line.message for line in found] == [
        "RunPodSandbox from runtime service failed",
        "Failed to create sandbox for pod",
        "CreatePodSandbox for pod failed",
    ]
    assert all(line.is_error and line.pairs["err"] == "no network" for line in found)


def test_a_stop_names_the_container_and_its_grace_period() -> None:
    call = r.CriCall(pod="default/web", container="main", call="StopContainer", args={"id": "c1", "timeout": 30})
    about = {**WEB, "containerName": "main", "containerID": "containerd://c1"}
    first, request = logged(call)
    assert (first.message, first.pairs) == ("Killing container with a grace period", {**about, "gracePeriod": 30})
    assert (request.v, request.message) == (10, "[RemoteRuntimeService] StopContainer")
    response, exited = logged(call, r.CriReturn(pod="default/web", container="main", call="StopContainer"))
    assert (response.v, exited.message, exited.pairs) == (10, "Container exited normally", about)


def test_a_command_is_never_logged() -> None:
    call = r.CriCall(pod="default/web", call="ExecSync", args={"id": "c1", "cmd": ["mysql", "-psecret"]})
    every = [*logged(call), *logged(call, r.CriReturn(pod="default/web", call="ExecSync", error="timed out"))]
    assert [dict(line.pairs) for line in every] == [{"containerID": "c1"}, {"err": "timed out", "containerID": "c1"}]


def test_status_and_deletion() -> None:
    write = r.ApiWrite(
        pod="default/web", verb="patch", resource="pods/status", by="kubelet", summary={"phase": "Running"}
    )
    _, v, message, pairs = one(r.StatusSet(pod="default/web", uid="u1", version=4), write)
    assert (v, message) == (3, "Status for pod updated successfully")
    assert pairs == {"pod": "default/web", "statusVersion": 4, "status": {"phase": "Running"}}
    assert logged(r.ApiWrite(pod="default/web", verb="create", resource="pods", by="user")) == []


def test_events_of_other_components_are_in_their_own_logs() -> None:
    assert logged(r.EventRecorded(pod="default/web", node="node-1", reason="TaintManagerEviction")) == []
    found = logged(r.EventRecorded(node="node-1", type="Normal", reason="NodeReady", message="ready"))
    assert [line.message for line in found] == ["Recording event message for node", "Event occurred"]
    assert found[1].pairs["kind"] == "Node"


def test_a_runtime_that_is_down_is_an_error() -> None:
    (line,) = logged(r.Note(text="skipping pod synchronization: container runtime is down"))
    assert (line.message, line.pairs) == ("Skipping pod synchronization", {"err": "container runtime is down"})
    assert logged(r.Note(text="container main ended with exit code 0 (Completed)")) == []
