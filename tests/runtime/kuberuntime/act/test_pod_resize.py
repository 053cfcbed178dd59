"""A resize of running containers: its order, what is stored, and the state after an error."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from kubesim.api.pod import Pod
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.cm.container_manager import ContainerManager
from kubesim.runtime.allocation.actuated import ActuatedState
from kubesim.runtime.allocation.allocated import AllocationState
from kubesim.runtime.allocation.cgroups import PodCgroups, ResourceConfig, resource_config_for_pod
from kubesim.runtime.allocation.linux_resources import linux_container_resources, with_actuated
from kubesim.runtime.helper import MemoryUsage, RuntimeHelper
from kubesim.runtime.kuberuntime.act.pod_resize import PodResizer, is_pod_resize_in_progress
from kubesim.runtime.kuberuntime.container_hash import hash_container
from kubesim.runtime.kuberuntime.decide.actions import compute_pod_actions
from kubesim.runtime.kuberuntime.results import SyncResult
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, RuntimeResources, SandboxNetwork, SandboxRecord


def make(*containers: dict[str, Any], resources: dict[str, Any] | None = None) -> Pod:
    """Containers as resources; their names are a, b, c."""
    listed = [{"name": name, "image": "i", "resources": r} for name, r in zip("abc", containers, strict=False)]
    spec: dict[str, Any] = {"containers": listed, "restartPolicy": "Always"}
    if resources is not None:
        spec["resources"] = resources
    return Pod.from_json({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": spec})


def amounts(cpu: str, memory: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


def running(pod: Pod) -> RuntimePodStatus:
    records = tuple(
        ContainerRecord(f"containerd://{c.name}-0", c.name, "running", hash_container(c)) for c in pod.spec.containers
    )
    return RuntimePodStatus("u", sandboxes=(SandboxRecord("s", network=SandboxNetwork("1.2.3.4")),), containers=records)


class Node:
    """A pod that runs with its first resources; all calls and writes are recorded."""

    def __init__(self, pod: Pod, *, usage: MemoryUsage | None = None, errors: dict[str, str] | None = None) -> None:
        self.log: list[str] = []
        self.actuated = ActuatedState()
        self.actuated.pod_cgroup_made(pod)
        self.cgroups = _NotedCgroups(self.log)
        self.cgroups.create("u", resource_config_for_pod(pod))
        self.reinspected = 0
        self.internal_lifecycle = ContainerManager()
        self._usage = usage
        self._errors = errors or {}

    def resize(self, pod: Pod) -> SyncResult:
        actions = compute_pod_actions(
            pod, running(pod), actuated=self.actuated.containers("u"), actuated_pod=self.actuated.pod("u")
        )
        resizer = PodResizer(cast(Runtime, self), cast(RuntimeHelper, self), self.actuated, self.cgroups)
        return asyncio.run(resizer.resize(pod, actions))

    async def update_pod_sandbox_resources(self, sandbox_id: str, resources: ResourceConfig) -> None:
        if "sandbox" in self._errors:
            raise RuntimeCallError(self._errors["sandbox"])

    async def update_container_resources(self, container_id: str, resources: RuntimeResources) -> None:
        if container_id in self._errors:
            raise RuntimeCallError(self._errors[container_id])
        self.log.append(f"{container_id}: cpu {resources.cpu_limit}, memory {resources.memory_limit}")

    swap = None

    def pod_memory_usage(self, uid: str) -> MemoryUsage | None:
        return self._usage

    def request_pod_reinspect(self, uid: str) -> None:
        self.reinspected += 1


class _NotedCgroups(PodCgroups):
    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self._log = log

    def write(self, uid: str, config: ResourceConfig) -> None:
        if config.memory is not None:
            self._log.append(f"pod memory {config.memory >> 20}Mi")
        elif config.cpu_quota is not None:
            self._log.append(f"pod quota {config.cpu_quota}")
        else:
            self._log.append(f"pod shares {config.cpu_shares}")
        super().write(uid, config)


def test_a_growing_pod_increases_its_cgroup_first() -> None:
    node = Node(make(amounts("1", "100Mi")))
    result = node.resize(make(amounts("2", "200Mi")))
    assert (result.action, result.target, result.error) == ("ResizePodInPlace", "p_ns(u)", "")
    assert node.log == [
        "pod memory 200Mi",
        "a-0: cpu 1, memory 200Mi",
        "pod quota 200000",
        "pod shares 2048",
        "a-0: cpu 2, memory 200Mi",
    ]


def test_a_shrinking_pod_reduces_its_cgroup_last() -> None:
    node = Node(make(amounts("2", "200Mi")))
    node.resize(make(amounts("1", "100Mi")))
    assert node.log == [
        "a-0: cpu 2, memory 100Mi",
        "pod memory 100Mi",
        "a-0: cpu 1, memory 100Mi",
        "pod shares 1024",
        "pod quota 100000",
    ]


def test_reductions_are_before_increases() -> None:
    node = Node(make(amounts("1", "1Gi"), amounts("2", "1Gi")))
    node.resize(make(amounts("2", "1Gi"), amounts("1", "1Gi")))
    assert node.log == ["b-0: cpu 1, memory 1Gi", "a-0: cpu 2, memory 1Gi"]


def test_applied_resources_are_stored_and_end_the_resize() -> None:
    before, after = make(amounts("1", "100Mi")), make(amounts("2", "200Mi"))
    node = Node(before)
    assert is_pod_resize_in_progress(after, running(after), node.actuated)
    node.resize(after)
    assert not is_pod_resize_in_progress(after, running(after), node.actuated)
    assert node.reinspected == 1
    assert node.cgroups.get("u") == ResourceConfig(2048, 200_000, 100_000, 200 << 20)


def test_an_error_ends_the_step_and_the_next_sync_continues() -> None:
    node = Node(make(amounts("1", "1Gi"), amounts("1", "1Gi")), errors={"b-0": "device busy"})
    wanted = make(amounts("2", "1Gi"), amounts("2", "1Gi"))
    result = node.resize(wanted)
    assert (result.error, result.message) == ("ResizePodInPlaceError", "device busy")
    assert node.log[-1] == "a-0: cpu 2, memory 1Gi"
    assert is_pod_resize_in_progress(wanted, running(wanted), node.actuated)
    again = compute_pod_actions(wanted, running(wanted), actuated=node.actuated.containers("u"))
    assert [update.container.name for update in again.containers_to_update["cpu"]] == ["b"]


def test_a_runtime_may_reject_it_and_one_without_the_call_does_not_matter() -> None:
    before, after = make(amounts("1", "1Gi")), make(amounts("2", "1Gi"))
    refused = Node(before, errors={"sandbox": "no"}).resize(after)
    assert refused.message == (
        "failed to notify runtime for UpdatePodSandboxResources (resource=cpu); resize rejected: "
        'updatePodSandboxResources failed for sanboxID "s": no'
    )
    assert not Node(before, errors={"sandbox": "rpc error: code = Unimplemented"}).resize(after).error


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        (MemoryUsage(50 << 20, {"a": 50 << 20}), ""),
        (None, ""),
        (
            MemoryUsage(150 << 20, {"a": 150 << 20}),
            (
                "cannot decrease memory limits: [attempting to set pod memory limit (104857600) below current usage "
                '(157286400), attempting to set container "a" memory limit (104857600) below current usage (157286400)]'
            ),
        ),
        (MemoryUsage(None, {}), "cannot decrease memory limits: missing pod memory usage"),
    ],
)
def test_a_memory_limit_is_not_reduced_below_the_usage(usage: MemoryUsage | None, message: str) -> None:
    node = Node(make(amounts("1", "200Mi")), usage=usage)
    assert node.resize(make(amounts("1", "100Mi"))).message == message
    assert bool(node.log) == (not message)
    assert node.reinspected == (0 if message else 1)


def test_pod_level_resources_are_applied_to_the_pod_and_are_the_limits_of_its_containers() -> None:
    node = Node(make({}, resources=amounts("1", "1Gi")))
    wanted = make({}, resources=amounts("2", "1Gi"))
    assert is_pod_resize_in_progress(wanted, running(wanted), node.actuated)
    assert not node.resize(wanted).error
    assert node.log == ["pod quota 200000", "pod shares 2048", "a-0: cpu 2, memory 1Gi"]
    assert not is_pod_resize_in_progress(wanted, running(wanted), node.actuated)


def test_a_stopped_container_has_no_resize_in_progress() -> None:
    node = Node(make(amounts("1", "1Gi")))
    assert not is_pod_resize_in_progress(make(amounts("2", "1Gi")), RuntimePodStatus("u"), node.actuated)


def test_resources_reported_by_a_runtime() -> None:
    pod = make(
        {"requests": {"cpu": "150m", "memory": "64Mi"}, "limits": {"cpu": "1500m"}}, {}, {"limits": {"cpu": "1"}}
    )
    a, b, c = (linux_container_resources(pod, container) for container in pod.spec.containers)
    assert a == RuntimeResources(cpu_request="150m", cpu_limit="1500m")
    assert b == RuntimeResources(cpu_request="2m")  # the minimum of cpu shares
    assert c == RuntimeResources(cpu_request="1", cpu_limit="1")  # no request: the limit is used
    assert with_actuated(a, pod.spec.containers[0].resources) == RuntimeResources("150m", "1500m", "64Mi")
    assert with_actuated(None, pod.spec.containers[0].resources) == RuntimeResources("150m", "1500m", "64Mi", "0")


# -- the allocation -------------------------------------------------------------------------------------------------


def test_a_pod_has_its_allocated_resources() -> None:
    """As in upstream's allocation_manager_test.go TestUpdatePodFromAllocation."""
    state, small, large = AllocationState(), make(amounts("1", "1Gi"), {}), make(amounts("2", "1Gi"), {})
    assert state.update_pod(large) is large  # nothing is allocated
    state.set(small)
    assert state.update_pod(small) is small
    assert state.update_pod(make(amounts("1000m", "1024Mi"), {})).spec.containers[0].resources.limits["cpu"] == "1000m"
    seen = state.update_pod(large)
    assert seen.spec.containers[0].resources == small.spec.containers[0].resources
    assert seen.spec.containers[1] == large.spec.containers[1]
    grown = make(amounts("1", "1Gi"), {}, resources=amounts("4", "4Gi"))
    assert state.update_pod(grown).spec.resources is None
