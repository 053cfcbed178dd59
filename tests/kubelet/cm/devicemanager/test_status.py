"""Devices in the statuses of nodes and pods."""

from __future__ import annotations

from kubesim.api.node import NodeStatus
from kubesim.api.pod import ContainerStatus, PodStatus
from kubesim.kubelet.cm.devicemanager.capacity import DeviceCapacity, with_device_capacity
from kubesim.kubelet.cm.devicemanager.plugin import UNHEALTHY, PluginDevice
from tests.support.devices import Kubelet, hold, pod_with

GPU = "example.com/gpu"


def test_a_resource_without_its_plugin_stays_with_zero_devices() -> None:
    """setters.go MachineInfo."""
    status = NodeStatus(capacity={"cpu": "8", "old.com/x": "3"}, allocatable={"cpu": "7", "old.com/x": "0"})
    new = with_device_capacity(status, DeviceCapacity({GPU: 2}, {GPU: 1}, ("old.com/x",)))
    assert new.capacity == {"cpu": "8", "old.com/x": "0", GPU: "2"}
    assert new.allocatable == {"cpu": "7", "old.com/x": "0", GPU: "1"}
    assert with_device_capacity(status, DeviceCapacity({}, {})) is status


def test_update_allocated_resources_status() -> None:
    """manager_test.go TestUpdateAllocatedResourcesStatus; dev3 is one that the plugin does not list any more."""
    manager = Kubelet().manager()
    hold(manager, "pod", "c0", GPU, "dev1", "dev2", "dev3")
    manager.update_devices(GPU, [PluginDevice("dev1"), PluginDevice("dev2", UNHEALTHY)])
    own = {"name": "other.com/x", "resources": [{"resourceID": "a", "health": "Healthy"}]}
    status = PodStatus(
        container_statuses=(ContainerStatus(name="c0", allocated_resources_status=(own,)), ContainerStatus(name="c1"))
    )
    new = manager.update_allocated_resources_status(pod_with({}), status)
    healths = [("dev1", "Healthy"), ("dev2", "Unhealthy"), ("dev3", "Healthy")]
    resources = [{"resourceID": name, "health": health} for name, health in healths]
    assert new.container_statuses[0].allocated_resources_status == (own, {"name": GPU, "resources": resources})
    assert new.container_statuses[1] == status.container_statuses[1]
    assert manager.update_allocated_resources_status(pod_with({}, uid="other"), status) is status
