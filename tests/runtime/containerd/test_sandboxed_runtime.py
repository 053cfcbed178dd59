"""A kubelet with sandboxes that follow containerd's rules: remains of failed ones are found and removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.timestamps import SECOND
from kubesim.cni.gocni import not_initialized
from kubesim.cni.info import network_condition
from kubesim.runtime.containerd.sandbox import PodSandboxService
from kubesim.runtime.containerd.sandboxed_runtime import SandboxedRuntime
from kubesim.runtime.protocol import RuntimeConditions
from kubesim.scenario.load.loader import parse_scenario
from tests.support.driven_node import DrivenNode
from tests.support.fakes.sandbox import Diary, FakeParts
from tests.support.sandboxed import POD, SCENARIO


class Node(DrivenNode):
    """A node whose sandboxes consist of fake parts."""

    fakes: FakeParts


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    fakes = FakeParts(Diary())

    def make(clock: Any, randomness: Any, programs: Any, options: Any) -> SandboxedRuntime:
        return SandboxedRuntime(clock, randomness, programs, PodSandboxService(fakes.parts()), settings=options)

    monkeypatch.setattr("kubesim.scenario.play.node.simulated_node.SimulatedRuntime", make)
    node = Node(parse_scenario(SCENARIO, "x.yaml"), 0)
    node.fakes = fakes
    yield node
    node.shut()


def messages(node: Node, reason: str) -> list[str]:
    events = [event for event in node.store.list("Event") if isinstance(event, Event)]
    return [event.message for event in events if event.reason == reason]


def test_a_pod_runs_in_such_a_sandbox_and_leaves_nothing(node: Node) -> None:
    node.apply(POD)
    node.wait(10 * SECOND)
    pod = node.pods()[0]
    assert (pod.status.phase, pod.status.pod_ip) == ("Running", "10.0.0.2")
    node.close()
    assert node.fakes.namespaces == set()
    assert node.fakes.stored == {}


def test_a_failed_network_is_an_event_and_retried(node: Node) -> None:
    node.fakes.diary.failing = {"set up network": "no address left"}
    node.apply(POD)
    node.wait(SECOND)
    assert any(
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox" in text
        and text.endswith(": no address left")
        for text in messages(node, "FailedCreatePodSandBox")
    )
    assert node.run(node.runtime.list_pod_sandboxes()) == []
    node.fakes.diary.failing = {}
    node.wait(60 * SECOND)
    assert node.pods()[0].status.phase == "Running"


def test_an_unknown_sandbox_is_removed_by_the_next_sync(node: Node) -> None:
    node.fakes.diary.failing = {"start sandbox": "no runtime", "tear down network": "busy"}
    node.apply(POD)
    node.wait(SECOND)
    kept = node.run(node.runtime.list_pod_sandboxes())
    assert [(sandbox.ready, sandbox.attempt) for sandbox in kept] == [(False, 0)]
    assert node.fakes.namespaces
    node.fakes.diary.failing = {}
    node.wait(300 * SECOND)
    left = node.run(node.runtime.list_pod_sandboxes())
    assert [(sandbox.ready, sandbox.attempt) for sandbox in left] == [(True, 1)]
    assert len(node.fakes.namespaces) == 1
    assert node.pods()[0].status.phase == "Running"
    node.close()
    assert node.fakes.namespaces == set()


def test_a_node_without_a_network_is_not_ready(node: Node) -> None:
    problem = str(network_condition(not_initialized()))
    assert problem.startswith("NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error:")
    node.runtime.set_conditions(RuntimeConditions(network_problem=problem))
    node.wait(20 * SECOND)
    ready = next(entry for entry in node.store.list("Node")[0].status.conditions if entry.type == "Ready")  # type: ignore[attr-defined]
    assert (ready.status, ready.reason) == ("False", "KubeletNotReady")
    assert ready.message == f"container runtime network not ready: {problem}"
    node.apply(POD)
    node.wait(5 * SECOND)
    assert messages(node, "NetworkNotReady") == [
        f"network is not ready: container runtime network not ready: {problem}"
    ]
