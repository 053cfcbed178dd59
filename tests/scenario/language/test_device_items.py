"""Device plugins in a scenario: short forms, and errors."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.scenario.language.document import Scenario

GPU: dict[str, Any] = {"resource": "example.com/gpu", "count": 2}


def scenario(plugins: list[dict[str, Any]], *steps: dict[str, Any]) -> Scenario:
    nodes = [{"name": "node-1", "devicePlugins": plugins}, {"name": "node-2"}]
    return Scenario.model_validate({"metadata": {"name": "x"}, "spec": {"nodes": nodes, "steps": list(steps)}})


def test_devices_are_counted_or_named() -> None:
    plugins = [GPU, {"resource": "example.com/nic", "devices": ["eth0", {"id": "eth1", "numaNodes": [1]}]}]
    gpu, nic = scenario(plugins).spec.nodes[0].device_plugins
    assert [(each.id, each.health) for each in gpu.devices] == [("gpu0", "Healthy"), ("gpu1", "Healthy")]
    assert [(each.id, each.numa_nodes) for each in nic.devices] == [("eth0", None), ("eth1", (1,))]


@pytest.mark.parametrize(
    ("plugins", "problem"),
    [
        ([{"resource": "gpu", "count": 1}], "must be an extended resource"),
        ([{**GPU, "devices": ["a"]}], "give count or devices"),
        ([{"resource": "example.com/gpu", "devices": ["a", "a"]}], "two devices have the same id"),
        ([{**GPU, "preferred": ["gpu7"]}], "there is no device gpu7"),
        ([{**GPU, "preStartError": "x"}], "preStartError needs preStartRequired"),
        ([GPU, GPU], "two plugins have the same resource"),
        ([{**GPU, "devices": [{"id": "a", "health": "Sick"}]}], "give count or devices"),
        ([{**GPU, "allocate": {"env": {"A": "{id}"}}}], "A has one value for all devices"),
        ([{**GPU, "allocate": {"mounts": [{"hostPath": "/a"}]}}], "give path, or hostPath and containerPath"),
        ([{**GPU, "allocate": {"devices": [{"path": "/a", "readOnly": True}]}}], "unknown field"),
        ([{**GPU, "allocate": {"mounts": ["relative"]}}], "match pattern"),
    ],
)
def test_an_invalid_plugin(plugins: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        scenario(plugins)


NIC = {"resource": "example.com/nic", "count": 1}


@pytest.mark.parametrize(
    ("plugins", "step", "problem"),
    [
        ([], {"stop": "devicePlugin"}, "node node-1 has no device plugin"),
        ([GPU], {"stop": {"what": "devicePlugin", "resource": "x.com/y"}}, "has no device plugin x.com/y"),
        ([GPU, NIC], {"restart": "devicePlugin"}, "has 2 device plugins: name the resource"),
        ([GPU], {"start": {"what": "devicePlugin", "node": "node-2"}}, "node node-2 has no device plugin"),
        ([GPU], {"start": {"what": "kubelet", "resource": "example.com/gpu"}}, "only a devicePlugin has a resource"),
        ([GPU], {"deviceHealth": {"device": "gpu5", "health": "Healthy"}}, "has no device gpu5"),
        ([GPU], {"deviceHealth": {"device": "gpu0", "health": "Sick"}}, "Healthy"),
        ([GPU], {"deviceHealth": {"device": "gpu0", "health": "Healthy", "node": "x"}}, "there is no node x"),
    ],
)
def test_a_step_without_a_plugin_name(plugins: list[dict[str, Any]], step: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        scenario(plugins, {"at": "1s", **step})
