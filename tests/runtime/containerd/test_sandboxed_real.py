"""A whole node in virtual time with real plugins for its pods, working and failing ones."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.timestamps import SECOND
from kubesim.clock import Randomness
from kubesim.cni.exec.process import RealExec
from kubesim.cni.gocni import CNI, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.errors import CniError
from kubesim.runtime.containerd.sandbox import Parts, PodSandboxService
from kubesim.runtime.containerd.sandbox_parts import BoundNamespaces, CniNetworking, SandboxDirectory
from kubesim.runtime.containerd.sandboxed_runtime import SandboxedRuntime
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.play.node import simulated_node as scenario_node
from tests.support.driven_node import DrivenNode
from tests.support.fakes.sandbox import FakeController
from tests.support.machine.cni_host import BIN_DIR, on_host
from tests.support.machine.networks import BRIDGE, NOTHING_LEFT, left_over
from tests.support.sandboxed import POD, SCENARIO

GOOD = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": [BRIDGE]})
PLUGINS = {
    "stderr-only": "echo it went wrong >&2\nexit 1",
    "megabyte": "head -c 1000000 /dev/zero | tr '\\0' x",
    "forks": "sleep 4730 >/dev/null 2>&1 &\nexit 3",
    "hangs": "setsid sleep 4731 &\nsleep 4731",
    "not-executable": "",
}


def a_node(folder: str, conflist: str, limit_s: float, wait_s: int) -> dict[str, Any]:
    """The lifecycle of a pod on a node with this configuration: its result, and what remains."""
    Path(folder, "net.d").mkdir()
    Path(folder, "net.d", "10-net.conflist").write_text(conflist)
    for name, lines in PLUGINS.items():
        Path(folder, name).write_text(f'#!/bin/sh\n[ "$CNI_COMMAND" = ADD ] || exit 0\n{lines}\n')
        Path(folder, name).chmod(0o644 if name == "not-executable" else 0o755)
    cni = CNI(NetworkDirectories([BIN_DIR, folder], f"{folder}/net.d", min_networks=2), RealExec())
    try:
        cni.load_now(with_lo_network, with_default_conf)
    except CniError:
        pass  # the node tells
    networking = CniNetworking(cni)

    def make(clock: Any, randomness: Any, programs: Any, options: Any) -> SandboxedRuntime:
        store = SandboxDirectory(f"{folder}/sandboxes")
        parts = Parts(BoundNamespaces(Randomness(0).stream("netns")), networking, FakeController(), store)
        return SandboxedRuntime(clock, randomness, programs, PodSandboxService(parts), networking, options, limit_s)

    setattr(scenario_node, "SimulatedRuntime", make)  # noqa: B010 (the only place that makes runtimes)
    node = DrivenNode(parse_scenario(SCENARIO, "x.yaml"), 0)
    node.apply(POD)
    node.wait(wait_s * SECOND)
    pod = node.pods()[0]
    events = [event for event in node.store.list("Event") if isinstance(event, Event)]
    reported = {
        "phase": pod.status.phase,
        "ip": pod.status.pod_ip,
        "events": {event.reason: event.message for event in events},
    }
    node.close()
    node.shut()
    for _ in range(1000):  # the kernel removes a namespace and its links asynchronously
        if not left_over()["links"]:
            break
    return {**reported, "after": left_over(), "stored": os.listdir(f"{folder}/sandboxes")}


def lived(tmp_path: Path, conflist: str, limit_s: float = 120, wait_s: int = 20) -> dict[str, Any]:
    reported: dict[str, Any] = on_host(a_node, folder=str(tmp_path), conflist=conflist, limit_s=limit_s, wait_s=wait_s)
    assert reported.pop("stored") == []
    return reported


def test_a_pod_gets_a_real_network(tmp_path: Path) -> None:
    reported = lived(tmp_path, GOOD)
    assert reported["after"] == NOTHING_LEFT
    assert (reported["phase"], reported["ip"]) == ("Running", "10.9.0.2")


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("stderr-only", ': plugin type="stderr-only" failed (add): netplugin failed: "it went wrong\\n"'),
        ("megabyte", "failed to unmarshal raw result: invalid character 'x' looking for beginning of value"),
        ("forks", "netplugin failed with no error message: exit status 3"),
        ("not-executable", "/not-executable: permission denied"),
        ("missing", f'failed to find plugin "missing" in path [{BIN_DIR} '),
    ],
)
def test_a_failing_plugin_is_an_event_and_nothing_remains(tmp_path: Path, plugin: str, words: str) -> None:
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [BRIDGE, {"type": plugin}]}
    reported = lived(tmp_path, json.dumps(network))
    if plugin in ("missing", "not-executable"):
        # DEL runs backward and stops at the first error, so that the bridge before it is never told. containerd leaks
        # only the address; the link is deleted with its namespace.
        assert reported["after"].pop("addresses")
        reported["after"]["addresses"] = []
    assert reported["after"] == NOTHING_LEFT
    assert reported["phase"] == "Pending"
    assert reported["events"]["FailedCreatePodSandBox"].startswith(
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "
    )
    assert words in reported["events"]["FailedCreatePodSandBox"]


def test_a_plugin_that_hangs_is_an_event_when_the_kubelet_gives_up(tmp_path: Path) -> None:
    """After four virtual minutes, for which it gets four real seconds; its effects are reverted."""
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [BRIDGE, {"type": "hangs"}]}
    reported = lived(tmp_path, json.dumps(network), 4.0, 250)
    assert reported["after"] == NOTHING_LEFT
    assert reported["phase"] == "Pending"
    assert reported["events"]["FailedCreatePodSandBox"] == (
        "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    )


@pytest.mark.parametrize("conflist", ["{", '{"name": 5, "plugins": []}', '{"name": "n", "plugins": [{"type": []}]}'])
def test_an_invalid_configuration_leaves_the_node_not_ready(tmp_path: Path, conflist: str) -> None:
    reported = lived(tmp_path, conflist)
    assert reported["after"] == NOTHING_LEFT
    assert reported["phase"] == "Pending"
    assert reported["events"]["NetworkNotReady"] == (
        "network is not ready: container runtime network not ready: NetworkReady=false "
        "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
    )
