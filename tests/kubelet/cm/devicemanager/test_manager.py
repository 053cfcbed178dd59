"""The device manager: admission, containers, plugins that connect and disconnect, restarts of the kubelet."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.cluster.scheduling.node_info import NodeResources
from kubesim.features import DEFAULT_GATES, FeatureGates, configured_gates
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.devicemanager.manager import DeviceManager
from kubesim.kubelet.cm.devicemanager.plugin import (
    UNHEALTHY,
    ContainerAllocateResponse,
    DevicePluginError,
    PluginDevice,
)
from kubesim.kubelet.cm.topologymanager.hints import TopologyHint
from kubesim.runtime.helper import ContainerConfigError
from kubesim.runtime.types import ContainerMount, DeviceInfo
from tests.support.devices import FakePlugin, Kubelet, allocate_all, hold, on_node, pod_with, register

ONE, TWO = "domain1.com/resource1", "domain2.com/resource2"


def answer_1(ids: Sequence[str]) -> ContainerAllocateResponse:
    """Upstream's allocateStubFunc: two device nodes and a mount for dev1, one of each and a variable for dev2."""
    names = {"dev1": ("aaa", "bbb"), "dev2": ("ccc",)}
    nodes = tuple(DeviceInfo(f"/dev/{n}", f"/dev/{n}", "mrw") for each in ids for n in names.get(each, ()))
    mounts = tuple(
        ContainerMount(each, f"/container/{each}", host_path=f"/host/{each}", read_only=True)
        for each in ids
        if each in names
    )
    return ContainerAllocateResponse((("key1", "val1"),) if "dev2" in ids else (), mounts, nodes)


def answer_2(ids: Sequence[str]) -> ContainerAllocateResponse:
    return ContainerAllocateResponse(envs=(("key2", "val2" if "dev3" in ids else "val3"),))


def test_pod_container_device_allocation() -> None:
    """manager_test.go TestPodContainerDeviceAllocation: three pods, one after the other."""
    kubelet = Kubelet()
    manager = kubelet.manager()
    register(manager, ONE, on_node(0, "dev1", "dev2"), FakePlugin(answer_1))
    register(manager, TWO, ("dev3", "dev4"), FakePlugin(answer_2))
    first = pod_with({ONE: 2, "cpu": 2, TWO: 1}, uid="first")
    second = pod_with({ONE: 1}, uid="second")
    third = pod_with({TWO: 1}, uid="third")
    kubelet.pods = [first]
    allocate_all(manager, first)
    options = manager.device_run_container_options(first, first.spec.containers[0])
    assert options is not None
    assert [*map(len, (options.devices, options.mounts, options.env))] == [3, 2, 2]

    kubelet.pods = [first, second]
    with pytest.raises(AllocationError) as error:
        allocate_all(manager, second)
    problem = f"requested number of devices unavailable for {ONE}. Requested: 1, Available: 0"
    assert str(error.value) == problem
    with pytest.raises(ContainerConfigError) as wrong:
        manager.device_run_container_options(second, second.spec.containers[0])
    assert str(wrong.value) == problem
    assert manager.known.allocated == {ONE: {"dev1", "dev2"}, TWO: {"dev3"}}

    kubelet.pods = [first, second, third]
    allocate_all(manager, third)
    options = manager.device_run_container_options(third, third.spec.containers[0])
    assert options is not None
    assert (options.devices, options.mounts, options.env) == ((), (), (("key2", "val3"),))
    assert manager.known.allocated == {ONE: {"dev1", "dev2"}, TWO: {"dev3", "dev4"}}


def test_get_device_run_container_options() -> None:
    """manager_test.go TestGetDeviceRunContainerOptions: a pod that is no longer active has none."""
    one, two = pod_with({ONE: 2, TWO: 1}, uid="one"), pod_with({TWO: 1}, uid="two")
    kubelet = Kubelet(pods=[one, two])
    manager = kubelet.manager()
    register(manager, ONE, on_node(0, "dev1", "dev2"), FakePlugin(answer_1))
    register(manager, TWO, ("dev3", "dev4"), FakePlugin(answer_2))
    allocate_all(manager, one)
    allocate_all(manager, two)
    options = manager.device_run_container_options(one, one.spec.containers[0])
    assert options is not None
    assert [*map(len, (options.devices, options.mounts, options.env))] == [3, 2, 2]
    kubelet.pods = [two]
    manager.update_allocated_devices()
    assert manager.device_run_container_options(one, one.spec.containers[0]) is None
    assert manager.known.allocated == {TWO: {"dev4"}}


def held_by(manager: DeviceManager, container: str) -> set[str]:
    return manager.pod_devices.of_container("pod", container, ONE) or set()


def test_init_container_device_allocation() -> None:
    """manager_test.go TestInitContainerDeviceAllocation: regular containers get the devices of init containers."""
    pod = pod_with({ONE: 1, TWO: 1}, {ONE: 1, TWO: 1}, init=[{ONE: 1}, {ONE: 2}])
    manager = Kubelet(pods=[pod]).manager()
    register(manager, ONE, ("dev1", "dev2"))
    register(manager, TWO, on_node(0, "dev3", "dev4"))
    allocate_all(manager, pod)
    i0, i1, c0, c1 = (held_by(manager, name) for name in ("i0", "i1", "c0", "c1"))
    assert [*map(len, (i0, i1, c0, c1))] == [1, 2, 1, 1]
    assert i1 >= i0 | c0 | c1
    assert not c0 & c1


def test_restartable_init_container_device_allocation() -> None:
    """manager_test.go TestRestartableInitContainerDeviceAllocation: those of a sidecar are not reused."""
    sidecar = {"restartPolicy": "Always"}
    pod = pod_with({ONE: 1}, {ONE: 2}, init=[{ONE: 3}, {ONE: 1, **sidecar}, {ONE: 2, **sidecar}])
    manager = Kubelet(pods=[pod]).manager()
    register(manager, ONE, [f"dev{number}" for number in range(1, 7)])
    allocate_all(manager, pod)
    i0, *own = (held_by(manager, name) for name in ("i0", "i1", "i2", "c0", "c1"))
    assert [len(i0), *map(len, own)] == [3, 1, 2, 1, 2]
    assert i0 >= own[0] | own[1]
    assert len(set().union(*own)) == 6


def test_update_plugin_resources() -> None:
    """manager_test.go TestUpdatePluginResources: for a pod with devices the node has at least what is allocated."""
    manager = Kubelet().manager()
    hold(manager, "pod", "c0", ONE, "dev1")
    hold(manager, "pod", "c0", TWO, "dev2")
    node = NodeResources(scalars={TWO: 2})
    assert manager.node_allocatable(pod_with({}), node).scalars == {ONE: 1, TWO: 2}
    assert manager.node_allocatable(pod_with({}, uid="other"), node) is node
    assert node.scalars == {TWO: 2}


def test_device_pre_start_container() -> None:
    """manager_test.go TestDevicePreStartContainer: called if the plugin requires it, but not for zero devices."""
    plugin = FakePlugin(answer_1, pre_start_required=True)
    pod, none = pod_with({ONE: 2}), pod_with({ONE: 0}, uid="none")
    manager = Kubelet(pods=[pod, none]).manager()
    register(manager, ONE, ("dev1", "dev2"), plugin)
    allocate_all(manager, pod)
    options = manager.device_run_container_options(pod, pod.spec.containers[0])
    assert plugin.calls == [("allocate", "dev1", "dev2"), ("prestart", "dev1", "dev2")]
    assert options is not None
    assert [*map(len, (options.devices, options.mounts, options.env))] == [3, 2, 1]
    allocate_all(manager, none)
    assert manager.device_run_container_options(none, none.spec.containers[0]) is None
    assert len(plugin.calls) == 2


def test_pre_start_fails_if_the_plugin_is_gone_or_nothing_is_allocated() -> None:
    pod, other = pod_with({ONE: 1}), pod_with({ONE: 1}, uid="other")
    manager = Kubelet(pods=[pod, other]).manager()
    register(manager, ONE, ("dev1",), FakePlugin(pre_start_required=True))
    allocate_all(manager, pod)
    with pytest.raises(ContainerConfigError) as error:
        manager.device_run_container_options(other, other.spec.containers[0])
    assert str(error.value) == (
        f"no devices found allocated in local cache for pod other, container c0, resource {ONE}"
    )
    manager.plugin_disconnected(ONE)
    with pytest.raises(ContainerConfigError) as error:
        manager.device_run_container_options(pod, pod.spec.containers[0])
    assert str(error.value).startswith("device plugin PreStartContainer rpc failed with err: endpoint &{")
    assert str(error.value).endswith("} has been stopped")
    assert f" {ONE} " in str(error.value)


def test_a_plugin_that_cannot_allocate() -> None:
    def refuse(ids: Sequence[str]) -> ContainerAllocateResponse:
        raise DevicePluginError("rpc error: code = Unknown desc = broken")

    pod = pod_with({ONE: 1})
    manager = Kubelet(pods=[pod]).manager()
    register(manager, ONE, ("dev1",), FakePlugin(refuse))
    with pytest.raises(AllocationError) as error:
        allocate_all(manager, pod)
    assert str(error.value) == "rpc error: code = Unknown desc = broken"
    assert manager.known.allocated == {}
    assert manager.pod_devices.pods() == []


def test_a_plugin_whose_preferred_allocation_fails() -> None:
    def refuse(available: object, must_include: object, size: int) -> tuple[str, ...]:
        raise DevicePluginError("rpc error: code = Unknown desc = broken")

    pod = pod_with({ONE: 1})
    manager = Kubelet(pods=[pod]).manager()
    register(manager, ONE, ("dev1", "dev2"), FakePlugin(prefer=refuse))
    with pytest.raises(AllocationError) as error:
        allocate_all(manager, pod)
    assert str(error.value) == (
        "device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = broken"
    )


def test_an_unknown_resource_is_not_managed_by_device_plugins() -> None:
    """The device manager accepts it; the predicates ignore resources that the node does not have."""
    pod = pod_with({ONE: 1})
    manager = Kubelet(pods=[pod]).manager()
    allocate_all(manager, pod)
    assert manager.device_run_container_options(pod, pod.spec.containers[0]) is None


def test_a_pod_that_was_admitted_before_the_plugin_registered_gets_its_devices_later() -> None:
    pod = pod_with({ONE: 1})
    manager = Kubelet(pods=[pod]).manager()
    allocate_all(manager, pod)
    register(manager, ONE, ("dev1", "dev2"), FakePlugin(answer_1))
    options = manager.device_run_container_options(pod, pod.spec.containers[0])
    assert options is not None
    assert len(options.devices) == 2


@pytest.mark.parametrize("enabled", [True, False], ids=["DRAExtendedResource enabled", "DRAExtendedResource disabled"])
def test_admit_pod_with_dra_resources(enabled: bool) -> None:
    """manager_test.go TestAdmitPodWithDRAResources."""
    mapping = {"containerName": "c0", "resourceName": ONE}
    pod = pod_with({ONE: 1}, status={"extendedResourceClaimStatus": {"requestMappings": [mapping]}})
    gates = DEFAULT_GATES if enabled else configured_gates({"DRAExtendedResource": False})
    manager = Kubelet(pods=[pod]).manager(gates=gates)
    manager.known.allocated[ONE] = {"Dev"}
    if enabled:
        allocate_all(manager, pod)
    else:
        with pytest.raises(AllocationError, match=f"cannot allocate unregistered device {ONE}"):
            allocate_all(manager, pod)


def test_a_container_does_not_restart_once_its_plugin_is_forgotten() -> None:
    pod = pod_with({ONE: 1})
    kubelet = Kubelet(pods=[pod])
    manager = kubelet.manager()
    register(manager, ONE, ("dev1",))
    allocate_all(manager, pod)
    manager.plugin_disconnected(ONE)
    assert manager.device_run_container_options(pod, pod.spec.containers[0]) is not None
    kubelet.time = 6 * MINUTE
    assert manager.get_capacity().removed == (ONE,)
    with pytest.raises(ContainerConfigError) as error:
        manager.device_run_container_options(pod, pod.spec.containers[0])
    assert str(error.value) == f"endpoint not found in cache for a registered resource: {ONE}"


def test_unregistered_devices() -> None:
    pod = pod_with({ONE: 1})
    manager = Kubelet(pods=[pod]).manager()
    manager.update_devices(ONE, on_node(0, "dev1"))
    with pytest.raises(AllocationError, match=f"^endpoint not found in cache for a registered resource: {ONE}$"):
        allocate_all(manager, pod)
    manager.affinity = lambda uid, container: TopologyHint(frozenset({0}))
    manager.known.allocated.clear()
    with pytest.raises(AllocationError, match=f"^unknown Device Plugin {ONE}$"):
        allocate_all(manager, pod)


# -- plugins that come and go ---------------------------------------------------------------------------------------


def health(*letters: str) -> list[PluginDevice]:
    return [PluginDevice(f"Device{n}", "Healthy" if each == "h" else UNHEALTHY) for n, each in enumerate(letters, 1)]


def test_update_capacity_allocatable() -> None:
    """manager_test.go TestUpdateCapacityAllocatable, step by step."""
    kubelet = Kubelet()
    manager = kubelet.manager()

    def counts(resource: str = ONE) -> tuple[int, int, tuple[str, ...]]:
        found = manager.get_capacity()
        return found.capacity[resource], found.allocatable[resource], found.removed

    register(manager, ONE, health("h", "h", "u"))
    assert counts() == (3, 2, ())
    manager.update_devices(ONE, health("h", "h"))  # an unhealthy device is deleted
    assert counts() == (2, 2, ())
    manager.update_devices(ONE, health("h", "u", "u"))  # a healthy device becomes unhealthy
    assert counts() == (3, 1, ())
    manager.update_devices(ONE, health("h", "u", "u")[1:])  # a healthy device is deleted
    assert counts() == (2, 0, ())
    register(manager, "resource2", health("h", "u", "u"))
    assert counts("resource2") == (3, 1, ())

    manager.plugin_disconnected(ONE)
    assert manager.is_changing()
    kubelet.time = 5 * MINUTE
    assert counts("resource2") == (3, 1, ())
    kubelet.time += 10 * SECOND
    assert counts("resource2") == (3, 1, (ONE,))
    assert ONE not in manager.get_capacity().capacity
    assert not {ONE} & {*manager.known.healthy, *manager.known.unhealthy, *manager.known.endpoints}
    assert not manager.is_changing()

    manager.plugin_disconnected("resource2")
    assert counts("resource2") == (3, 0, ())
    again = kubelet.restart()  # the resource still belongs to plugins, so its pods are rejected
    found = again.get_capacity()
    assert (found.capacity, found.allocatable, found.removed) == ({"resource2": 0}, {"resource2": 0}, ())
    assert again.is_device_plugin_resource("resource2")
    assert not again.is_device_plugin_resource(ONE)


def test_device_plugin_re_registration() -> None:
    """manager_test.go TestDevicePluginReRegistration: the devices are those of the last registration."""
    manager = Kubelet().manager()
    for devices in (("Dev1", "Dev2"), ("Dev1", "Dev2"), ("Dev3",)):
        register(manager, ONE, devices)
        found = manager.get_capacity()
        assert found.capacity == found.allocatable == {ONE: len(devices)}


def test_endpoint_sync_on_disconnect() -> None:
    """manager_test.go TestEndpointSyncOnDisconnect."""
    kubelet = Kubelet()
    manager = kubelet.manager()
    register(manager, ONE, health("h", "h", "u"))
    manager.plugin_disconnected(ONE)
    assert manager.known.healthy == {ONE: set()}
    assert manager.known.unhealthy == {ONE: {"Device1", "Device2", "Device3"}}
    kubelet.time = 10 * MINUTE
    manager.get_capacity()
    assert (manager.known.healthy, manager.known.unhealthy, manager.known.endpoints) == ({}, {}, {})


def test_get_allocatable_devices() -> None:
    """manager_test.go TestGetAllocatableDevicesMultipleResources, TestGetAllocatableDevicesHealthTransition."""
    manager = Kubelet().manager()
    register(manager, ONE, health("h", "h", "u"))
    register(manager, TWO, ("R2Device1",))
    ids = {resource: [*devices] for resource, devices in manager.allocatable_devices().items()}
    assert ids == {ONE: ["Device1", "Device2"], TWO: ["R2Device1"]}
    manager.update_devices(ONE, health("h", "h", "h"))
    assert [*manager.allocatable_devices()[ONE]] == ["Device1", "Device2", "Device3"]


def test_feature_gate_resource_health_status() -> None:
    """manager_test.go TestFeatureGateResourceHealthStatus: pods are synced when the health of their device changes."""

    def updates(gates: FeatureGates) -> list[tuple[str, ...]]:
        kubelet = Kubelet()
        manager = kubelet.manager(gates=gates)
        manager.known.all[ONE] = {f"dev{number}": PluginDevice(f"dev{number}") for number in range(3)}
        for number in range(3):
            hold(manager, f"pod{number}", "c", ONE, f"dev{number}")
        manager.update_devices(ONE, [PluginDevice("dev1")])
        assert not kubelet.updates
        manager.update_devices(ONE, [PluginDevice("dev0"), PluginDevice("dev1", UNHEALTHY), PluginDevice("new")])
        return kubelet.updates

    assert updates(DEFAULT_GATES) == [("pod0", "pod1")]  # dev0 was not listed for a while
    off = {"ResourceHealthStatus": False, "ResourceHealthStatusMessage": False}
    assert updates(configured_gates(off)) == []


# -- the kubelet restarts -------------------------------------------------------------------------------------------


def test_checkpoint() -> None:
    """manager_test.go TestCheckpoint: allocations come back, and resources without devices."""
    pod, other = pod_with({ONE: 2, TWO: 1}, {ONE: 1}), pod_with({ONE: 1}, uid="other")
    kubelet = Kubelet(pods=[pod, other])
    manager = kubelet.manager()
    register(manager, ONE, on_node(0, *(f"dev{number}" for number in range(1, 6))), FakePlugin(answer_1))
    register(manager, TWO, ("dev3",), FakePlugin(answer_2))
    allocate_all(manager, pod)
    allocate_all(manager, other)

    again = kubelet.restart()
    assert [*again.pod_devices.entries()] == [*manager.pod_devices.entries()]
    assert again.known.allocated == manager.known.allocated
    assert again.known.healthy == {ONE: set(), TWO: set()}
    for container in pod.spec.containers:
        options = again.device_run_container_options(pod, container)
        assert options == manager.device_run_container_options(pod, container)


def restarted(*, running: bool, ready: bool) -> tuple[DeviceManager, Pod]:
    pod = pod_with({ONE: 1})
    kubelet = Kubelet(pods=[pod])
    before = kubelet.manager()
    register(before, ONE, ("dev1",))
    allocate_all(before, pod)
    kubelet.sources.all_ready = ready
    return kubelet.restart([("pod", "c0")] if running else []), pod


def test_a_running_container_keeps_its_devices_before_the_plugin_registers_again() -> None:
    """Flow 2 of devicesToAllocate: only the kubelet has restarted."""
    manager, pod = restarted(running=True, ready=False)
    allocate_all(manager, pod)


@pytest.mark.parametrize(("running", "ready"), [(False, False), (True, True)], ids=["rebooted", "sources are ready"])
def test_it_is_rejected_until_the_plugin_registers_again(running: bool, ready: bool) -> None:
    """Flow 3 of devicesToAllocate: the node was rebooted."""
    manager, pod = restarted(running=running, ready=ready)
    with pytest.raises(AllocationError) as error:
        allocate_all(manager, pod)
    assert str(error.value) == f"no healthy devices present; cannot allocate unhealthy devices {ONE}"
    register(manager, ONE, ("dev2",))
    with pytest.raises(AllocationError, match="previously allocated devices are no longer healthy"):
        allocate_all(manager, pod)
    register(manager, ONE, ("dev2", "dev1"))
    allocate_all(manager, pod)


def test_devices_are_not_released_before_all_sources_reported() -> None:
    manager, _ = restarted(running=False, ready=False)
    manager.active_pods = list
    manager.update_allocated_devices()
    assert manager.known.allocated == {ONE: {"dev1"}}
    manager.sources.all_ready = True
    manager.update_allocated_devices()
    assert manager.known.allocated == {}
