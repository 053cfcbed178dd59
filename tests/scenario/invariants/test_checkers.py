"""The checkers as pure functions: history and observation in, violation out."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.cluster.store.watches import WatchEvent
from kubesim.features.rules import Rules, rules_of
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.podworkers.sync_status import PodSyncStatus
from kubesim.runtime.protocol import ContainerInfo
from kubesim.runtime.simulated.cri.watcher import Killer
from kubesim.scenario.invariants.containers import (
    addresses,
    gone_pods,
    grace_periods,
    init_order,
    networks,
    one_instance,
    probes,
    sidecars,
)
from kubesim.scenario.invariants.reported import (
    lost_updates,
    resource_versions,
    restart_counts,
    statuses,
    terminal_phase,
)
from kubesim.scenario.invariants.seen import PodSeen, SandboxSeen, StopCall, StoreSeen

START = 1_800_000_000 * SECOND


class Node:
    """A node without violations."""

    def __init__(self, **worker: Any) -> None:
        self.rules: Rules = rules_of("v1.36")
        self.undisturbed_since: int | None = 0
        self.is_shutting_down = False
        self.eviction_grace_s = 1
        self._worker = PodSyncStatus("web_default", 0, **worker) if worker else None

    def worker(self, uid: str) -> PodSyncStatus | None:
        return self._worker


def pod(*, init: str = "", sidecar: str = "", node: Node | None = None, **spec: Any) -> PodSeen:
    inits = [{"name": name} for name in init.split()]
    inits += [{"name": name, "restartPolicy": "Always"} for name in sidecar.split()]
    whole = {"initContainers": inits, "containers": [{"name": "main"}], "terminationGracePeriodSeconds": 10, **spec}
    made = Pod.from_json({"metadata": {"name": "web", "namespace": "default", "uid": "u"}, "spec": whole})
    return PodSeen(made, node or Node(), sandboxes={"box": SandboxSeen("10.0.0.1")})


def info(name: str = "main", identifier: str = "", **more: Any) -> ContainerInfo:
    return ContainerInfo(identifier or f"{name}-1", "box", "u", name, 0, "running", 0, **more)


def with_status(version: int = 1, **status: Any) -> Pod:
    metadata = {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": str(version)}
    spec = {"containers": [{"name": "main"}]}
    return Pod.from_json({"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})


def change(old: ApiObject | None, new: ApiObject, version: int = 2) -> WatchEvent:
    return WatchEvent("MODIFIED", new, version, old)


def container(state: dict[str, Any], restarts: int = 0, *, ready: bool = False) -> dict[str, Any]:
    common = {"name": "main", "ready": ready, "restartCount": restarts, "image": "", "imageID": ""}
    return {**common, "state": state, "containerID": "containerd://main-1"}


def exited(code: int, reason: str = "Completed") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason}}


RUNNING = {"running": {"startedAt": "2027-01-15T08:00:00Z"}}


def test_one_instance() -> None:
    seen = pod()
    assert one_instance.started(seen, info(), START) == ""
    seen.running["main-1"] = info()
    assert one_instance.started(seen, info("other"), START) == ""
    assert "while main-1 was still running" in one_instance.started(seen, info(identifier="main-2"), START)


@pytest.mark.parametrize(
    ("gone_s", "node", "found"),
    [
        (None, Node(), False),
        (29, Node(), False),
        (31, Node(), True),
        (31, Node(terminating_at=1), False),  # its worker is still busy
        (31, Node(terminating_at=1, terminated_at=2), True),
    ],
)
def test_deleted_pods(gone_s: int | None, node: Node, found: bool) -> None:
    seen = pod(node=node)
    seen.gone_at = None if gone_s is None else START - gone_s * SECOND
    seen.running["main-1"] = info()
    assert bool(gone_pods.at_end(seen, START)) == found
    assert bool(gone_pods.ended(seen, info(), START)) == found
    assert bool(gone_pods.started(seen, info("other"), START)) == found
    node.undisturbed_since = START - 10 * SECOND
    assert gone_pods.at_end(seen, START) == ""
    node.undisturbed_since = None
    assert gone_pods.at_end(seen, START) == ""


def test_no_start_of_a_terminating_pod() -> None:
    assert "being stopped" in gone_pods.started(pod(node=Node(started_terminating=True)), info(), START)


@pytest.mark.parametrize(
    ("name", "started", "succeeded", "found"),
    [
        ("first", "", "", ""),
        ("second", "first", "", "init container first"),
        ("second", "first", "first", ""),
        ("proxy", "first", "first", "init container second"),
        ("main", "first second", "first second", "sidecar proxy"),
        ("main", "first second proxy", "first second", ""),
        ("debugger", "", "", ""),  # an ephemeral container that the pod did not have before
    ],
)
def test_init_order(name: str, started: str, succeeded: str, found: str) -> None:
    seen = pod(init="first second", sidecar="proxy")
    seen.sandboxes["box"] = SandboxSeen("", set(started.split()), set(succeeded.split()))
    problem = init_order.started(seen, info(name), START)
    assert bool(problem) == bool(found)
    assert found in problem


@pytest.mark.parametrize(
    ("stopped", "running", "left_s", "found"),
    [
        ("proxy", "main", 10, True),
        ("proxy", "main", 2, False),
        ("main", "proxy", 10, False),
        ("proxy", "logger", 10, True),  # the next sidecar
        ("logger", "proxy", 10, False),
        ("proxy", "last", 10, False),  # not the next one
    ],
)
def test_sidecars(stopped: str, running: str, left_s: int, found: bool) -> None:
    seen = pod(sidecar="proxy logger last")
    seen.running[f"{running}-1"] = info(running)
    assert sidecars.stopping(seen, info(stopped), 0, START) == ""  # one that is restarted alone
    seen.stops[f"{running}-1"] = StopCall(START, left_s * SECOND)
    assert bool(sidecars.stopping(seen, info(stopped), 0, START)) == found


def test_sidecars_outlive_hooks() -> None:
    seen = pod(sidecar="proxy", node=Node(started_terminating=True, terminating_at=START, grace_period=10))
    seen.running["main-1"] = info()
    assert sidecars.stopping(seen, info("proxy"), 0, START + SECOND)
    assert sidecars.stopping(seen, info("proxy"), 0, START + 9 * SECOND) == ""


def test_networks() -> None:
    assert networks.connected(pod(), info(), True) == ""
    assert "without a network" in networks.connected(pod(), info(), False)


@pytest.mark.parametrize(("before", "after", "found"), [(0, 0, False), (1, 2, False), (2, 1, True), (1, 0, True)])
def test_restart_counts(before: int, after: int, found: bool) -> None:
    old, new = (with_status(containerStatuses=[container(RUNNING, count)]) for count in (before, after))
    assert bool(restart_counts.status_changed(None, old, new)) == found
    assert restart_counts.status_changed(None, None, new) == ""


@pytest.mark.parametrize(
    ("before", "after", "reason", "found"),
    [
        ("Running", "Pending", "", False),
        ("Running", "Failed", "", False),
        ("Failed", "Failed", "Evicted", False),
        ("Failed", "Running", "", True),
        ("Succeeded", "Failed", "", True),
        ("Succeeded", "Failed", "DeadlineExceeded", False),
    ],
)
def test_terminal_phase(before: str, after: str, reason: str, found: bool) -> None:
    old, new = with_status(phase=before), with_status(phase=after, reason=reason)
    assert bool(terminal_phase.status_changed(None, old, new)) == found


@pytest.mark.parametrize(
    ("by", "reported", "found"),
    [
        ("stop", 10, True),
        ("stop", 5, False),
        ("sandbox", None, True),
        ("removal", None, True),
        ("sandbox", 10, False),
    ],
)
def test_grace_periods_of_kills(by: Killer, reported: int | None, found: bool) -> None:
    seen = pod()
    assert grace_periods.killed(seen, info(), by, START) == ""  # it no longer runs
    seen.running["main-1"] = info()
    if reported is not None:
        seen.stops["main-1"] = StopCall(START - 5 * SECOND, reported * SECOND)
        seen.stop_requested.add("main-1")
    assert bool(grace_periods.killed(seen, info(), by, START)) == found


@pytest.mark.parametrize(
    ("timeout_s", "worker", "found"),
    [
        (10, {}, ""),
        (12, {}, "more than its grace period"),
        (12, {"evicted": True}, ""),
        (4, {"deleted": True, "started_terminating": True, "terminating_at": START}, "gets only 4s"),
        (4, {"deleted": True, "terminating_at": START}, ""),  # a sync that had started before
        (4, {"deleted": True, "started_terminating": True, "terminating_at": START - 1}, ""),
        (4, {"deleted": True, "started_terminating": True, "terminating_at": START, "evicted": True}, ""),
        (7, {"deleted": True, "started_terminating": True, "terminating_at": START}, ""),
    ],
)
def test_grace_periods_of_stops(timeout_s: int, worker: dict[str, Any], found: str) -> None:
    seen = pod(node=Node(**worker))
    seen.deleted_at, seen.graces = START, (10, 5)
    problem = grace_periods.stopping(seen, info(), timeout_s * SECOND, START)
    assert bool(problem) == bool(found)
    assert found in problem


def test_a_probe_has_its_own_grace_period() -> None:
    probe = {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 60}
    seen = pod(containers=[{"name": "main", "livenessProbe": probe}])
    assert grace_periods.stopping(seen, info(), 60 * SECOND, START) == ""


@pytest.mark.parametrize(
    ("type", "state", "started", "after_s", "found"),
    [
        ("readiness", RUNNING, True, 10, ""),
        ("readiness", RUNNING, True, 9, "initial delay"),
        ("readiness", RUNNING, False, 10, "before the container had started"),
        ("startup", RUNNING, False, 10, ""),
        ("startup", RUNNING, True, 10, "after the container had started"),
        ("readiness", exited(0), True, 10, "does not report it as running"),
    ],
)
def test_probes(type: Any, state: dict[str, Any], started: bool, after_s: int, found: str) -> None:
    probe = {"exec": {"command": ["true"]}, "initialDelaySeconds": 10}
    seen = pod(containers=[{"name": "main", "readinessProbe": probe, "startupProbe": probe}])
    subject = WorkerSubject.of(seen.spec, seen.spec.spec.containers[0], type)
    status = with_status(containerStatuses=[{**container(state), "started": started}]).status
    now = START + after_s * SECOND
    assert "has not started it" in probes.probed(seen, subject, status, "containerd://main-1", now) or found
    seen.ended["main-1"] = info()
    problem = probes.probed(seen, subject, status, "containerd://main-1", now)
    assert bool(problem) == bool(found)
    assert found in problem


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"phase": "Running", "containerStatuses": [container(RUNNING, ready=True)]}, ""),
        ({"phase": "Running", "containerStatuses": [container(exited(0), ready=True)]}, "ready, but not as running"),
        (
            {"containerStatuses": [container(RUNNING)], "conditions": [{"type": "Ready", "status": "True"}]},
            "container main is not ready",
        ),
        ({"phase": "Succeeded", "containerStatuses": [container(exited(1))]}, "did not exit with 0"),
        ({"phase": "Failed", "containerStatuses": [container(RUNNING)]}, "while containers run: main"),
        ({"phase": "Running", "containerStatuses": [container(exited(0))]}, "reported as terminated"),
        ({"phase": "Running", "containerStatuses": [container(exited(137, "ContainerStatusUnknown"))]}, ""),
    ],
)
def test_the_status_of_a_running_container(status: dict[str, Any], found: str) -> None:
    seen = pod()
    seen.running["main-1"] = info()
    problem = statuses.status_changed(seen, with_status(phase="Pending"), with_status(**status))
    assert bool(problem) == bool(found)
    assert found in problem


def test_the_status_reports_nothing_that_never_happened() -> None:
    seen, old = pod(), with_status(phase="Pending")
    new = with_status(containerStatuses=[container(RUNNING)])
    assert "never started" in statuses.status_changed(seen, old, new)
    seen.ended["main-1"] = info(exit_code=3)
    assert statuses.status_changed(seen, old, new) == ""  # it may be late
    wrong = with_status(containerStatuses=[container(exited(0))])
    assert "not with 3" in statuses.status_changed(seen, old, wrong)


def test_addresses() -> None:
    assert addresses.sandbox_ended(pod(), False) == ""
    assert "not released" in addresses.sandbox_ended(pod(), True)
    seen = StoreSeen(addresses={"10.0.0.1": "default/other"})
    assert addresses.sandbox_up(seen, pod(), "10.0.0.2") == ""
    assert "which pod default/other has" in addresses.sandbox_up(seen, pod(), "10.0.0.1")


def test_resource_versions() -> None:
    seen = StoreSeen(version=4)
    assert resource_versions.stored(seen, None, change(None, with_status(5), 5)) == ""
    assert "got version 4 after version 4" in resource_versions.stored(seen, None, change(None, with_status(4), 4))


def test_lost_updates() -> None:
    first, second, third = (with_status(version) for version in (1, 2, 3))
    seen = StoreSeen()
    assert lost_updates.stored(seen, second, change(second, third, 3)) == ""
    assert "based on version 1, and undoes version 2" in lost_updates.stored(seen, second, change(first, third, 3))
    assert "based on no object" in lost_updates.stored(seen, second, change(None, third, 3))
    assert lost_updates.stored(seen, None, change(first, third, 3)) == ""
