"""Cases from upstream's pkg/kubelet/nodestatus/setters_test.go (TestMemoryPressureCondition, TestReadyCondition, ...),
and when they are written to the API server."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import Node
from kubesim.api.timestamps import SECOND, format_time
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.cluster.memory_client import MemoryClient
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.kubelet.node.node_conditions import NodeHealth, NodeStatusUpdater, aggregate, has_changed, with_conditions
from kubesim.kubelet.node.node_status import initial_node
from kubesim.kubelet.settings import KubeletSettings
from kubesim.trace import Recorder
from tests.support.ticks import ticks

START, LATER = 0, 60 * SECOND
NODE = initial_node(KubeletSettings(), START)


def condition(node: Node, type: str) -> tuple[str, str, str, str | None]:
    found = next(condition for condition in node.status.conditions if condition.type == type)
    return found.status, found.reason, found.message, found.last_transition_time


@pytest.mark.parametrize(
    ("type", "under", "reported", "relieved"),
    [
        (
            "MemoryPressure",
            ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
            "NodeHasInsufficientMemory",
            "NodeHasSufficientMemory",
        ),
        (
            "DiskPressure",
            ("KubeletHasDiskPressure", "kubelet has disk pressure"),
            "NodeHasDiskPressure",
            "NodeHasNoDiskPressure",
        ),
        (
            "PIDPressure",
            ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
            "NodeHasInsufficientPID",
            "NodeHasSufficientPID",
        ),
    ],
)
def test_pressure(type: str, under: tuple[str, str], reported: str, relieved: str) -> None:
    pressed, events = with_conditions(NODE, NodeHealth(pressure=(type,)), LATER)
    assert condition(pressed, type) == ("True", *under, format_time(LATER))
    assert events == [reported]
    again, events = with_conditions(pressed, NodeHealth(pressure=(type,)), 2 * LATER)
    assert condition(again, type)[3] == format_time(LATER)
    assert (events, has_changed(pressed, again)) == ([], False)
    well, events = with_conditions(again, NodeHealth(), 3 * LATER)
    assert condition(well, type)[0] == "False"
    assert events == [relieved]
    assert [c.type for c in well.status.conditions] == [c.type for c in NODE.status.conditions]


def test_ready_and_not_ready() -> None:
    broken, events = with_conditions(NODE, NodeHealth(problems=("", "no network", "node is shutting down")), LATER)
    reported = "[no network, node is shutting down]"
    assert condition(broken, "Ready") == ("False", "KubeletNotReady", reported, format_time(LATER))
    assert events == ["NodeNotReady"]
    well, events = with_conditions(broken, NodeHealth(), 2 * LATER)
    expected = ("True", "KubeletReady", "kubelet is posting ready status", format_time(2 * LATER))
    assert condition(well, "Ready") == expected
    assert events == ["NodeReady"]


def test_a_node_without_capacity_is_not_ready() -> None:
    bare = NODE.changed(status=NODE.status.changed(capacity={"cpu": "1"}))
    reported = "missing node capacity for resources: memory, pods, ephemeral-storage"
    assert condition(with_conditions(bare, NodeHealth(), LATER)[0], "Ready")[2] == reported


def test_a_new_node_is_reported_but_not_its_readiness() -> None:
    new = NODE.changed(status=NODE.status.changed(conditions=()))
    node, events = with_conditions(new, NodeHealth(), LATER)
    assert [c.type for c in node.status.conditions] == ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    assert events == ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]


def test_several_problems_as_one_text() -> None:
    assert aggregate(("", "")) == ""
    assert aggregate(("a", "")) == "a"
    assert aggregate(("[a, b]", "c", "a")) == "[a, b, c]"


@pytest.mark.parametrize("every_tick", [False, True])
def test_the_api_server_is_updated_at_the_next_interval_or_immediately(every_tick: bool) -> None:
    reported: list[tuple[int, str]] = []
    health = [NodeHealth()]

    async def main() -> list[tuple[int, str]]:
        clock = LoopClock(0)
        store = Store(clock.now, lambda: "uid")
        store.create(NODE)
        seen: list[tuple[int, str]] = []

        def changed(change: Any) -> None:
            seen.append((clock.now() // SECOND, condition(change.object, "Ready")[0]))

        store.watch("Node", changed)
        updater = NodeStatusUpdater(
            clock,
            Recorder(clock),
            MemoryClient(clock, store),
            "node-1",
            lambda: health[0],
            lambda: False,
            lambda type, reason, message: reported.append((clock.now() // SECOND, message)),
            Randomness(1).stream("test"),
            jitter=False,
        )
        async with TaskSet() as tasks:
            tasks.start("node status", updater.run())
            await clock.sleep(95 * SECOND)
            health[0] = NodeHealth(problems=("broken",))
            await clock.sleep(30 * SECOND)
            health[0] = NodeHealth()
            await updater.update()
            await clock.sleep(60 * SECOND)
        return seen

    with ticks(every_tick=every_tick):
        seen = run_virtual(main)
    assert seen == [(100, "False"), (125, "True")]
    text = "Node node-1 status is now: {}"
    assert reported == [(100, text.format("NodeNotReady")), (125, text.format("NodeReady"))]
