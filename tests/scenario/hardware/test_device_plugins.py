"""Device plugins on nodes, and pods that request devices."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kubelet.cm.devicemanager.plugin import ContainerAllocateResponse
from kubesim.runtime.types import ContainerMount, DeviceInfo
from kubesim.scenario.hardware.device_plugins import SimulatedDevicePlugin
from kubesim.scenario.language.nodes.device_items import DevicePluginItem
from kubesim.trace.records import Note
from tests.support.played import Played, pod

GPU = "example.com/gpu"


def asking(name: str = "one", count: int = 1, **spec: Any) -> dict[str, Any]:
    made = pod(name, nodeName="node-1", **spec)
    made["spec"]["containers"][0]["resources"] = {"limits": {GPU: count}}
    return made


def play(
    *steps: dict[str, Any], objects: list[dict[str, Any]], plugin: dict[str, Any] | None = None, **spec: Any
) -> Played:
    plugins = [{"resource": GPU, "count": 1, **(plugin or {})}]
    return Played(*steps, objects=objects, nodes=[{"name": "node-1", "devicePlugins": plugins}], **spec)


def notes(played: Played, text: str) -> list[float]:
    return [round(r.t / 1e6, 1) for r in played.records if isinstance(r, Note) and text in r.text]


def test_responses_of_a_plugin() -> None:
    item = DevicePluginItem.model_validate(
        {
            "resource": GPU,
            "count": 2,
            "preferred": ["gpu1"],
            "allocate": {
                "env": {"ALL": "{ids}", "GPU_{id}": "yes"},
                "devices": ["/dev/ctl", {"hostPath": "/dev/{id}", "containerPath": "/dev/x/{id}", "permissions": "rw"}],
                "mounts": [{"path": "/lib", "readOnly": True}],
                "annotations": {"gpus": "{ids}"},
                "cdiDevices": ["example.com/gpu={id}"],
            },
        }
    )
    plugin = SimulatedDevicePlugin(item)
    assert plugin.allocate(["gpu0", "gpu1"]) == ContainerAllocateResponse(
        envs=(("ALL", "gpu0,gpu1"), ("GPU_gpu0", "yes"), ("GPU_gpu1", "yes")),
        mounts=(ContainerMount("/lib", "/lib", host_path="/lib", read_only=True),),
        devices=(
            DeviceInfo("/dev/ctl", "/dev/ctl", "mrw"),
            DeviceInfo("/dev/gpu0", "/dev/x/gpu0", "rw"),
            DeviceInfo("/dev/gpu1", "/dev/x/gpu1", "rw"),
        ),
        annotations=(("gpus", "gpu0,gpu1"),),
        cdi_devices=("example.com/gpu=gpu0", "example.com/gpu=gpu1"),
    )
    assert plugin.preferred_allocation(["gpu0", "gpu1"], ["gpu0"], 1) == ("gpu0",)
    assert plugin.preferred_allocation(["gpu0", "gpu1"], [], 1) == ("gpu1",)


def test_a_container_sees_its_devices_and_its_own_variables_override_theirs() -> None:
    one = asking()
    one["spec"]["containers"][0]["env"] = [{"name": "A", "value": "own"}]
    allocate = {
        "env": {"A": "plugin", "B": "{ids}"},
        "devices": ["/dev/{id}"],
        "mounts": [{"path": "/opt/x", "files": {"f": "text"}}],
    }
    command = ["sh", "-c", "echo $A $B; ls /dev/gpu0; cat /opt/x/f"]
    look = {"at": "5s", "exec": {"pod": "one", "command": command}}
    played = play(look, objects=[one], plugin={"allocate": allocate})
    [text] = [r.text for r in played.records if isinstance(r, Note) and r.text.startswith("exec")]
    assert text.endswith("ended with 0: own gpu0\n/dev/gpu0\ntext")


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        ({"count": 0}, f"no healthy devices present; cannot allocate unhealthy devices {GPU}"),
        ({"count": 2, "allocate": {"error": "no driver"}}, "rpc error: code = Unknown desc = no driver"),
        ({}, f"requested number of devices unavailable for {GPU}. Requested: 2, Available: 1"),
    ],
)
def test_reasons_for_a_rejected_pod(plugin: dict[str, Any], problem: str) -> None:
    played = play(objects=[asking(count=2)], plugin=plugin)
    message = f"Allocate failed due to {problem}, which is unexpected"
    assert played.messages("UnexpectedAdmissionError") == [message]
    assert played.result.outcomes["default/one"] == f"Failed: UnexpectedAdmissionError: Pod was rejected: {message}"


def test_a_container_does_not_start_if_its_plugin_fails() -> None:
    plugin = {"preStartRequired": True, "preStartError": "cannot reset"}
    played = play(objects=[asking()], plugin=plugin, expect=[{"pod": "one", "waiting": "CreateContainerConfigError"}])
    assert played.result.ok
    text = "device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = cannot reset"
    assert f"Error: {text}" in played.messages("Failed")


def test_without_a_plugin_the_node_lacks_the_resource_and_the_pod_runs() -> None:
    played = play(objects=[asking()], plugin={"running": False})
    assert played.result.outcomes["default/one"] == "Running"


def test_a_plugin_registers_at_its_start_and_with_the_next_kubelet() -> None:
    played = play(
        {"at": "5s", "start": "devicePlugin"},
        {"at": "20s", "restart": {"what": "kubelet", "downFor": "5s"}},
        objects=[],
        plugin={"running": False, "registersAfter": "2s"},
    )
    assert notes(played, "registers with the kubelet") == [7.0, 27.0]


def test_a_plugin_that_stays_away_is_removed_after_five_minutes() -> None:
    def expected(field: str, value: str, by: str) -> dict[str, Any]:
        return {"object": "Node/node-1", "field": f"status.{field}[{GPU}]", "equals": value, "by": by}

    def never(field: str, value: str) -> dict[str, Any]:
        return {"object": "Node/node-1", "field": f"status.{field}[{GPU}]", "equals": value, "never": True}

    stop = {"at": "10s", "stop": "devicePlugin"}
    short = play(stop, objects=[], duration="4m", expect=[expected("allocatable", "0", "21s"), never("capacity", "0")])
    assert short.result.ok
    long = play(stop, objects=[], duration="6m", expect=[expected("capacity", "0", "5m22s")])
    assert long.result.ok


def test_without_its_plugin_new_pods_are_rejected_and_a_running_one_continues() -> None:
    played = play(
        {"at": "10s", "stop": "devicePlugin"},
        {"at": "20s", "apply": asking("late")},
        {"at": "30s", "kill": {"pod": "one"}},
        {"at": "40s", "start": "devicePlugin"},
        {"at": "41s", "apply": asking("later")},
        objects=[asking()],
        plugin={"count": 2},
    )
    outcomes = played.result.outcomes
    assert outcomes["default/one"] == "Running"
    assert len(played.starts("one")) == 2  # its device was allocated before
    assert "no healthy devices present" in outcomes["default/late"]
    assert outcomes["default/later"] == "Running"


def test_a_deleted_pod_releases_its_device() -> None:
    played = play(
        {"at": "10s", "delete": {"pod": "one", "gracePeriodSeconds": 1}},
        {"at": "20s", "apply": asking("two")},
        objects=[asking()],
    )
    assert played.result.outcomes["default/two"] == "Running"


def test_device_health_can_be_omitted_from_the_status() -> None:
    off = {"ResourceHealthStatus": False, "ResourceHealthStatusMessage": False}
    step = {"at": "10s", "deviceHealth": {"device": "gpu0", "health": "Unhealthy"}}

    def writes(**spec: Any) -> list[Any]:
        played = play(step, objects=[asking()], **spec)
        return [s["containers"]["main"].get("devices") for s in played.statuses("one")]

    assert writes()[-1] == {"gpu0": "Unhealthy"}
    assert set(writes(featureGates=off)) == {None}
