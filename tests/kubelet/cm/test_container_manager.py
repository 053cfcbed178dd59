"""The container manager: containers run with the resources allocated at admission, until the pod is deleted."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubesim.api.pod import Container, Pod
from kubesim.features import DEFAULT_GATES
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.compose import new_container_manager
from kubesim.kubelet.cm.container_manager import ADMITTED, NO_OPTIONS, ContainerManager
from kubesim.kubelet.cm.cpumanager.state import CpuState
from kubesim.kubelet.cm.devicemanager.manager import DeviceManager
from kubesim.kubelet.cm.dra.manager import DraManager
from kubesim.kubelet.cm.machine import MachineError
from kubesim.kubelet.cm.topologymanager.hints import Hints
from kubesim.kubelet.settings import KubeletSettings
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.helper import DynamicResourcesError, RunContainerOptions
from kubesim.runtime.protocol import ContainerConfig
from kubesim.runtime.types import DeviceInfo
from kubesim.trace.records import CriCall, LogOutput
from tests.kubelet.cm.tables import pod_of
from tests.support.played import Played, pod

STATIC: dict[str, Any] = {
    "nodes": [{"name": "node-1", "capacity": {"cpu": 8, "memory": "16Gi"}, "topology": {"threadsPerCore": 2}}],
    "kubeletConfiguration": {"cpuManagerPolicy": "static", "systemReserved": {"cpu": "1"}},
}
SHOW = "cat /sys/fs/cgroup/cpuset.cpus.effective; nproc"


def guaranteed(name: str, cpus: int, command: str = "sleep 1d", **spec: Any) -> dict[str, Any]:
    made = pod(name, command=["sh", "-c", command], **spec)
    amounts = {"cpu": cpus, "memory": "1Gi"}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return made


def log(story: Played, name: str) -> list[str]:
    return [r.text for r in story.records if isinstance(r, LogOutput) and r.pod == f"default/{name}"]


# -- a whole node -----------------------------------------------------------------------------------------------


def test_a_container_runs_on_its_allocated_cpus() -> None:
    story = Played(
        objects=[guaranteed("two", 2, f"{SHOW}; sleep 1d"), guaranteed("three", 3, f"{SHOW}; sleep 1d")], **STATIC
    )
    assert log(story, "two") == ["1,5", "2"]
    assert log(story, "three") == ["2,4,6", "3"]  # the third is next to the reserved one


def test_cpus_stay_with_a_container_when_it_and_the_kubelet_restart() -> None:
    objects = [guaranteed("two", 2, f"{SHOW}; sleep 15; exit 1"), guaranteed("other", 2)]
    story = Played({"at": "10s", "restart": "kubelet"}, objects=objects, **STATIC)
    assert log(story, "two")[:4] == ["1,5", "2", "1,5", "2"]
    assert len([note for note in story.notes() if "are its own" in note]) == 2
    assert not [note for note in story.notes() if "free again" in note]


def test_init_containers_use_the_same_cpus_and_sidecars_do_not() -> None:
    amounts = {"cpu": 2, "memory": "1Gi"}
    resources = {"requests": amounts, "limits": amounts}
    first = {"name": "first", "image": "busybox:1", "command": ["sh", "-c", SHOW], "resources": resources}
    beside = {**first, "name": "beside", "command": ["sh", "-c", f"{SHOW}; sleep 1d"], "restartPolicy": "Always"}
    story = Played(objects=[guaranteed("web", 2, f"{SHOW}; sleep 1d", initContainers=[first, beside])], **STATIC)
    seen = [(r.container, r.text) for r in story.records if isinstance(r, LogOutput) and r.text != "2"]
    assert seen == [("first", "1,5"), ("beside", "1,5"), ("main", "2,6")]


def test_full_cores_only() -> None:
    options = {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}
    configuration = {**STATIC["kubeletConfiguration"], **options}
    story = Played(objects=[guaranteed("odd", 3)], **{**STATIC, "kubeletConfiguration": configuration})
    assert story.result.phases == {"default/odd": "Failed"}
    expected = "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
    assert story.messages("SMTAlignmentError") == [expected]


def test_a_pod_with_exclusive_cpus_has_no_quota() -> None:
    """DisableCPUQuotaWithExclusiveCPUs"""
    shared = guaranteed("shared", 2)
    del shared["spec"]["containers"][0]["resources"]["requests"]
    shared["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1500m"
    story = Played(objects=[guaranteed("two", 2), shared], **STATIC)
    created = {r.pod: r.args for r in story.records if isinstance(r, CriCall) and r.call == "CreateContainer"}
    assert created["default/two"].get("cpu_limit") is None
    assert created["default/two"]["cpuset_cpus"] == "1,5"
    assert created["default/shared"]["cpu_limit"] == "1500m"


def test_memory_comes_from_the_node_that_has_it() -> None:
    configuration = {
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": "restricted",
        "reservedMemory": [{"numaNode": 1, "limits": {"memory": "100Mi"}}],
    }
    nodes = [{"name": "node-1", "topology": {"numaNodes": 2, "memory": ["4Gi", "12Gi"]}}]
    big = guaranteed("big", 1, "cat /sys/fs/cgroup/cpuset.mems.effective; sleep 1d")
    amounts = {"cpu": 1, "memory": "6Gi"}
    big["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    story = Played(objects=[big, pod("any", command=["cat", "/sys/fs/cgroup/cpuset.mems.effective"])], nodes=nodes,
                   kubeletConfiguration=configuration)  # fmt: skip
    assert log(story, "big") == ["1"]
    assert log(story, "any")[0] == "0-1"


def test_a_kubelet_with_another_policy_does_not_start() -> None:
    disk = KubeletDisk(state_files={"cpu_manager_state": CpuState(policy="static")})
    context: Any = SimpleNamespace(settings=KubeletSettings(), gates=DEFAULT_GATES)
    with pytest.raises(MachineError, match='configured policy "none" differs from state checkpoint policy "static"'):
        new_container_manager(context, cast(Any, None), cast(Any, None), disk)


# -- the parts --------------------------------------------------------------------------------------------------


class Devices:
    """Implements `DeviceManager`."""

    error = ""

    def topology_hints(self, pod: Pod, container: Container) -> Hints:
        return {}

    def pod_topology_hints(self, pod: Pod) -> Hints:
        return {}

    def allocate(self, pod: Pod, container: Container) -> None:
        if self.error:
            raise AllocationError(self.error)

    def allocate_pod(self, pod: Pod) -> None:
        pass

    def device_run_container_options(self, pod: Pod, container: Container) -> RunContainerOptions | None:
        return RunContainerOptions(
            env=(("GPU", "0"),), devices=(DeviceInfo("/dev/gpu0", "/dev/gpu0", "rw"),), cdi_devices=("vendor/gpu=0",)
        )


class Claims:
    """Implements `DraManager`."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def prepare_resources(self, pod: Pod) -> None:
        self.calls.append("prepare")
        raise DynamicResourcesError("no driver")

    async def unprepare_resources(self, pod: Pod) -> None:
        self.calls.append("unprepare")

    def get_resources(self, pod: Pod, container: Container) -> RunContainerOptions:
        return RunContainerOptions(cdi_devices=("vendor/claim=1",))


POD = pod_of({"uid": "pod", "containers": [{"name": "main"}]})
MAIN = POD.spec.containers[0]


def test_without_managers_nothing_is_allocated() -> None:
    manager = ContainerManager()
    config = cast(ContainerConfig, object())
    assert manager.admit(POD) is ADMITTED
    assert manager.get_resources(POD, MAIN) is NO_OPTIONS
    assert manager.pre_create_container(POD, MAIN, config) is config
    assert manager.has_cpu_quota(POD)
    assert manager.has_cpu_quota(POD, MAIN)
    asyncio.run(manager.prepare_dynamic_resources(POD))


def test_devices_and_claims_are_combined() -> None:
    """container_manager_linux.go GetResources"""
    manager = ContainerManager()
    manager.dra = cast(DraManager, Claims())
    assert manager.get_resources(POD, MAIN) == RunContainerOptions(cdi_devices=("vendor/claim=1",))
    manager.devices = cast(DeviceManager, Devices())
    both = manager.get_resources(POD, MAIN)
    assert both.cdi_devices == ("vendor/claim=1", "vendor/gpu=0")
    assert (both.env, [device.path_on_host for device in both.devices]) == ((("GPU", "0"),), ["/dev/gpu0"])


def test_a_pod_is_rejected_if_a_manager_cannot_allocate() -> None:
    manager = ContainerManager()
    devices = Devices()
    manager.devices = cast(DeviceManager, devices)
    assert manager.admit(POD) == ADMITTED
    devices.error = "requested number of devices unavailable"
    message = "Allocate failed due to requested number of devices unavailable, which is unexpected"
    assert manager.admit(POD) == ("UnexpectedAdmissionError", message)


def test_claims_are_prepared_and_unprepared() -> None:
    manager = ContainerManager()
    claims, claiming = Claims(), POD.changed(spec=POD.spec.changed(resource_claims=({"name": "gpu"},)))
    manager.dra = cast(DraManager, claims)
    with pytest.raises(DynamicResourcesError, match="no driver"):
        asyncio.run(manager.prepare_dynamic_resources(claiming))
    asyncio.run(manager.unprepare_dynamic_resources(claiming))
    asyncio.run(manager.unprepare_dynamic_resources(POD))  # has none
    assert claims.calls == ["prepare", "unprepare"]
