"""The devices of each container, and what the container sees of them."""

from __future__ import annotations

import pytest

from kubesim.kubelet.cm.devicemanager.plugin import ContainerAllocateResponse
from kubesim.kubelet.cm.devicemanager.pod_devices import AllocatedDevices, PodDevices
from kubesim.runtime.helper import RunContainerOptions
from kubesim.runtime.types import ContainerMount, DeviceInfo

ONE, TWO = "example1.com/resource1", "example2.com/resource2"


def test_get_container_devices() -> None:
    """pod_devices_test.go TestGetContainerDevices, TestGetPodAndContainerForDevice."""
    devices = PodDevices()
    devices.insert("pod1", "con1", ONE, AllocatedDevices({0: ("dev1",), 1: ("dev1",)}, ContainerAllocateResponse()))
    found = devices.container_devices("pod1", "con1")
    assert set(found[ONE]["dev1"].numa_nodes or ()) == {0, 1}
    assert devices.pod_of_device("dev2") == ""
    assert devices.pod_of_device("dev1") == "pod1"
    assert devices.container_devices("pod1", "other") == {}


@pytest.mark.parametrize(
    ("responses", "cdi_devices"),
    [
        pytest.param({ONE: ()}, (), id="empty response"),
        pytest.param({ONE: ("v1=d1", "v2=d2")}, ("v1=d1", "v2=d2"), id="cdi devices are handled"),
        pytest.param(
            {ONE: ("v1=d1", "v2=d2"), TWO: ("v3=d3", "v4=d4")},
            ("v1=d1", "v2=d2", "v3=d3", "v4=d4"),
            id="cdi devices from multiple resources are handled",
        ),
        pytest.param(
            {ONE: ("v1=d1", "v2=d2"), TWO: ("v2=d2", "v3=d3")},
            ("v1=d1", "v2=d2", "v3=d3"),
            id="duplicate cdi devices are skipped",
        ),
    ],
)
def test_device_run_container_options(responses: dict[str, tuple[str, ...]], cdi_devices: tuple[str, ...]) -> None:
    """pod_devices_test.go TestDeviceRunContainerOptions."""
    devices = PodDevices()
    for resource, names in responses.items():
        devices.insert("pod", "c", resource, AllocatedDevices({}, ContainerAllocateResponse(cdi_devices=names)))
    assert devices.run_container_options("pod", "c") == RunContainerOptions(cdi_devices=cdi_devices)


def test_the_first_of_two_settings_is_used() -> None:
    def response(value: str) -> AllocatedDevices:
        mount, device = ContainerMount("/lib", "/lib", host_path=value), DeviceInfo(value, "/dev/x", "mrw")
        return AllocatedDevices(
            {0: ("d",)}, ContainerAllocateResponse((("A", value),), (mount,), (device,), (("note", value),))
        )

    devices = PodDevices()
    devices.insert("pod", "c", ONE, response("/first"))
    devices.insert("pod", "c", TWO, response("/second"))
    options = devices.run_container_options("pod", "c")
    assert options is not None
    assert options.env == (("A", "/first"),)
    assert options.mounts == (ContainerMount("/lib", "/lib", host_path="/first"),)
    assert options.devices == (DeviceInfo("/first", "/dev/x", "mrw"),)
    assert options.annotations == (("note", "/first"),)
    assert devices.run_container_options("pod", "other") is None
    assert devices.run_container_options("other", "c") is None
