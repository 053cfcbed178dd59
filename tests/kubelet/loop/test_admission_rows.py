"""Pods that a kubelet rejects or admits: upstream's cases.

Re-reports pkg/kubelet/kubelet_test.go: TestHandlePortConflicts, TestHandleHostNameConflicts, TestHandleNodeSelector,
TestHandleNodeSelectorBasedOnOS (3 rows), TestHandleMemExceeded, TestHandlePluginResources (2 of 4 pods: nothing adjusts
allocatable resources here), TestFilterOutInactivePods (8 pods), TestPodResourceAllocationReset (11 rows),
TestRecordAdmissionRejection (22 rows), TestHandlePodReconcile_RetryPendingResizes (4 rows).
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import LoopClock, run_virtual
from kubesim.kubelet.admission.predicates import admit
from kubesim.kubelet.context import PodSources, PodViews
from kubesim.kubelet.loop.handlers import Handlers
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.observability import rejection_label
from kubesim.kubelet.status.manager import StatusManager
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.podworkers.sync_status import PodSyncStatus
from kubesim.runtime.allocation.allocated import AllocationState
from kubesim.runtime.pod_cache import PodCache
from kubesim.trace import Recorder
from tests.support.allocation import AllocatingKubelet, amounts, container, played, resizable_pod
from tests.support.played import Played, pod

Json = dict[str, Any]


def together(old: Json, new: Json, **spec: Any) -> dict[str, str]:
    """Two pods that a restarted kubelet sees at the same time; the phases at the end."""
    steps = ({"at": "0s", "stop": "kubelet"}, {"at": "5s", "apply": new}, {"at": "10s", "start": "kubelet"})
    phases = Played(*steps, objects=[old], **spec).result.phases
    return {name.removeprefix("default/"): phase for name, phase in phases.items()}


def of_container(name: str, **fields: Any) -> Json:
    made = pod(name, nodeName="node-1")
    made["spec"]["containers"][0].update(fields)
    return made


def test_the_older_of_two_pods_with_the_same_host_port_runs() -> None:
    """TestHandlePortConflicts"""
    ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    found = together(of_container("oldpod", **ports), of_container("newpod", **ports))
    assert found == {"oldpod": "Running", "newpod": "Failed"}


def test_the_older_of_two_pods_that_need_the_same_memory_runs() -> None:
    """TestHandleMemExceeded"""
    resources = {"resources": {"requests": {"memory": "500Mi"}}}
    nodes = [{"name": "node-1", "capacity": {"memory": "1Gi"}}]
    found = together(of_container("oldpod", **resources), of_container("newpod", **resources), nodes=nodes)
    assert found == {"oldpod": "Running", "newpod": "Failed"}


def node(labels: dict[str, str] | None = None, allocatable: dict[str, str] | None = None) -> Node:
    metadata = {"name": "node-1", "labels": labels or {}}
    status = {"allocatable": {"pods": "110", **(allocatable or {})}}
    return Node.from_json({"metadata": metadata, "status": status})


def admitted(on: Node, **spec: Any) -> bool:
    spec.setdefault("containers", [{"name": "c"}])
    return admit(Pod.from_json({"metadata": {"name": "p"}, "spec": spec}), on, ()).admit


def test_a_pod_of_another_node() -> None:
    """TestHandleHostNameConflicts"""
    assert not admitted(node(), nodeName="127.0.0.2")
    assert admitted(node(), nodeName="node-1")


def test_a_node_selector() -> None:
    """TestHandleNodeSelector"""
    assert not admitted(node({"key": "B"}), nodeSelector={"key": "A"})
    assert admitted(node({"key": "B"}), nodeSelector={"key": "B"})


OS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}


@pytest.mark.parametrize(
    ("labels", "selector", "expected"),
    [
        pytest.param(OS, {"kubernetes.io/os": "dummyOS"}, False, id="correct OS label, wrong pod selector"),
        pytest.param(OS, {"kubernetes.io/os": "linux"}, True, id="correct OS label, correct pod selector"),
        pytest.param({**OS, "key": "B"}, {"key": "B"}, True, id="new node label, correct pod selector"),
    ],
)
def test_a_node_selector_for_the_os(labels: dict[str, str], selector: dict[str, str], expected: bool) -> None:
    assert admitted(node(labels), nodeSelector=selector) == expected


@pytest.mark.parametrize(("name", "expected"), [("domain2.com/emptyResource", False), ("domain2.com/missing", True)])
def test_extended_resources(name: str, expected: bool) -> None:
    """TestHandlePluginResources: a resource that the node does not know is handled by the cluster."""
    on = node(allocatable={"domain2.com/emptyResource": "0"})
    resources = {"requests": {name: "2"}, "limits": {name: "2"}}
    assert admitted(on, containers=[{"name": "c", "resources": resources}]) == expected


def test_pods_that_count_as_active() -> None:
    """TestFilterOutInactivePods"""

    async def main() -> list[str]:
        clock = LoopClock()
        manager, states = PodManager(), PodSyncStatuses()
        statuses = StatusManager(None, manager, lambda pod: False, clock, Recorder(clock))
        views = PodViews(manager, states, PodCache(), statuses, Resyncs(clock), PodSources(lambda seen: True))
        phases = ("Failed", "Succeeded", "Running", "Pending", "Running", "Running", "Running", "Failed")
        for number, phase in enumerate(phases):
            metadata: Json = {"name": str(number), "namespace": "ns", "uid": str(number)}
            if number == 2:
                metadata["deletionTimestamp"] = "2020-01-01T00:00:00Z"
            one = Pod.from_json({"metadata": metadata, "spec": {"containers": []}, "status": {"phase": phase}})
            manager.update(one)
            if number == 5:  # rejected by admission
                statuses.set_pod_status(one, PodStatus(phase="Failed"))
        states.statuses["6"] = PodSyncStatus("6_ns", 0, terminating_at=1, terminated_at=2)
        states.statuses["7"] = PodSyncStatus("7_ns", 0, terminating_at=1)
        return [one.metadata.name for one in views.active_pods()]

    assert run_virtual(main) == ["2", "3", "4", "7"]


BOTH, CPU, MEMORY = amounts("500m", "500Mi"), amounts("500m"), amounts("", "500Mi")


@pytest.mark.parametrize(
    ("asked", "existing"),
    [
        pytest.param(BOTH, None, id="Having both memory and cpu, resource allocation not exists"),
        pytest.param(BOTH, BOTH, id="Having both memory and cpu, resource allocation exists"),
        pytest.param(BOTH, amounts("800m", "800Mi"), id="Having both memory and cpu, with different value"),
        pytest.param(CPU, None, id="Only has cpu, resource allocation not exists"),
        pytest.param(CPU, CPU, id="Only has cpu, resource allocation exists"),
        pytest.param(CPU, amounts("800m"), id="Only has cpu, with different value"),
        pytest.param(MEMORY, None, id="Only has memory, resource allocation not exists"),
        pytest.param(MEMORY, MEMORY, id="Only has memory, resource allocation exists"),
        pytest.param(MEMORY, amounts("", "800Mi"), id="Only has memory, with different value"),
        pytest.param({}, None, id="No CPU and memory, resource allocation not exists"),
        pytest.param({}, {}, id="No CPU and memory, resource allocation exists"),
    ],
)
def test_a_pod_keeps_its_allocation_after_a_restart(asked: Json, existing: Json | None) -> None:
    """TestPodResourceAllocationReset"""

    async def story() -> None:
        state = AllocationState()
        if existing is not None:
            state.set(resizable_pod("1", container("c1", existing)))
        await AllocatingKubelet(state=state).add(resizable_pod("1", container("c1", asked)))
        found = state.get("1")
        assert found is not None
        assert found.containers["c1"].requests == (asked if existing is None else existing)

    played(story)


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        *(
            (reason, reason)
            for reason in (
                "AppArmor", "VolumeAttachmentLimitExceeded", "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported",
                "InvalidNodeInfo", "InitContainerRestartPolicyForbidden", "SupplementalGroupsPolicyNotSupported",
                "UnexpectedAdmissionError", "UnknownReason", "UnexpectedPredicateFailureType",
                "node(s) had taints that the pod didn't tolerate", "Evicted", "SysctlForbidden",
                "TopologyAffinityError", "NodeShutdown", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage",
                "OutOfpods", "PodLevelResourcesNotSupported",
            )
        ),
        ("OutOfgpu", "OutOfExtendedResources"),
        ("OtherReason", "Other"),
    ],
)  # fmt: skip
def test_the_metric_of_a_rejection(reason: str, label: str) -> None:
    """TestRecordAdmissionRejection"""
    assert rejection_label(reason) == label


LOW, HIGH, ENORMOUS = amounts("500m", "500Mi"), amounts("1", "1Gi"), amounts("2", "2000Mi")


def with_status(name: str, requests: Json, reported: Json, phase: str = "") -> Pod:
    status: Json = {"containerStatuses": [{"name": "c1", "resources": {"requests": reported}}]}
    if phase:
        status["phase"] = phase
    return resizable_pod(name, container("c1", requests), status=status)


@pytest.mark.parametrize(
    ("allocated", "before", "after", "phase", "expected"),
    [
        pytest.param(HIGH, LOW, HIGH, "", False, id="requests are increasing"),
        pytest.param(LOW, LOW, LOW, "", False, id="requests are unchanged"),
        pytest.param(LOW, HIGH, LOW, "", True, id="requests are decreasing"),
        pytest.param(LOW, LOW, LOW, "Failed", True, id="pod is marked as terminal"),
    ],
)
def test_a_status_that_frees_resources_triggers_pending_resizes(
    allocated: Json, before: Json, after: Json, phase: str, expected: bool
) -> None:
    """TestHandlePodReconcile_RetryPendingResizes: requests beyond the allocation do not count."""

    async def story() -> None:
        kubelet = AllocatingKubelet()
        nothing: Any = None
        handlers = Handlers(kubelet.manager.context, kubelet.manager.views, nothing, nothing, kubelet.manager, nothing)
        kubelet.state.set(resizable_pod("waiting", container("c1", LOW)))
        kubelet.state.set(resizable_pod("other", container("c1", allocated)))
        asked = LOW if phase else ENORMOUS
        kubelet.pods.update(resizable_pod("waiting", container("c1", HIGH)))
        kubelet.pods.update(with_status("other", asked, before))
        kubelet.manager.admit_before.append(lambda pod: ("Refused", "all resizes are refused here"))
        await kubelet.manager.push_pending_resize("waiting")
        await handlers.handle_pod_reconcile([with_status("other", asked, after, phase)])
        assert kubelet.conditions.is_deferred("waiting") == expected

    played(story)
