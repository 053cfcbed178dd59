"""The connection to a plugin."""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import MINUTE
from kubesim.kubelet.cm.devicemanager.endpoint import PluginEndpoint
from kubesim.kubelet.cm.devicemanager.plugin import ContainerAllocateResponse, DevicePluginError
from tests.support.devices import FakePlugin


def test_calls_reach_the_plugin() -> None:
    """endpoint_test.go TestAllocate, TestGetPreferredAllocation."""
    response = ContainerAllocateResponse(envs=(("A", "1"),))
    plugin = FakePlugin(lambda ids: response, prefer=lambda *_: ("device0", "device1"))
    endpoint = PluginEndpoint("mock", plugin, plugin.options())
    assert endpoint.allocate(["ADeviceId"]) is response
    assert endpoint.preferred_allocation((), (), -1) == {"device0", "device1"}


def test_a_stopped_endpoint_rejects_calls() -> None:
    """manager_test.go TestUpdateCapacityAllocatable, its endpoint."""
    endpoint = PluginEndpoint("example.com/gpu", FakePlugin(prefer=lambda *_: ()), stopped_at=0)
    for call in (
        lambda: endpoint.allocate(["a"]),
        lambda: endpoint.pre_start_container(["a"]),
        lambda: endpoint.preferred_allocation((), (), 1),
    ):
        with pytest.raises(DevicePluginError, match=r"^endpoint &\{.* example.com/gpu .*\} has been stopped$"):
            call()


def test_a_stopped_endpoint_is_remembered_for_five_minutes() -> None:
    endpoint = PluginEndpoint("mock", stopped_at=MINUTE)
    assert not endpoint.stop_grace_period_expired(6 * MINUTE)
    assert endpoint.stop_grace_period_expired(6 * MINUTE + 1)
    assert not PluginEndpoint("mock", FakePlugin()).stop_grace_period_expired(100 * MINUTE)
