"""The agent and a kubelet that runs a scenario end in the same state, and no difference is certain."""

from __future__ import annotations

import pytest

from kubesim.api.node import Node
from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.attach.agent.comparison import Comparison
from kubesim.attach.agent.live_node import AttachedNode
from kubesim.attach.agent.node_scenario import node_scenario
from kubesim.attach.agent.verdict import PodVerdict
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.trace import MemorySink
from tests.support.attach.watching import scenario
from tests.support.sources.faulty_api import DirectTransport


def verdicts(name: str) -> list[dict[str, PodVerdict]]:
    """The states of the pods at each second."""
    seen: list[dict[str, PodVerdict]] = []

    async def main() -> None:
        async with TaskSet() as tasks:
            real = Simulation(scenario(name), 0, tasks)
            node_name = next(iter(real.nodes))
            node = real.store.get("Node", "", node_name)
            assert isinstance(node, Node)
            comparison = Comparison()
            live = AttachedNode(DirectTransport(real.store, real.clock), node_name, references=True)
            live.followers.append(comparison)
            ours = Simulation(node_scenario(node_name, node), 1, tasks, (MemorySink(),), live=live)
            comparison.attach(ours.store, ours.recorder, ours.clock.elapsed)
            ours.begin_attached()

            async def sample() -> None:
                while True:
                    await real.clock.sleep(SECOND)
                    seen.append({row.pod: row.verdict for row in comparison.rows()})

            tasks.start("samples", sample())
            await tasks.run_until(real.run())
            await ours.close()

    run_virtual(main)
    return seen


@pytest.mark.parametrize(
    "name", ["hello-pod", "init-containers", "job", "crashloop", "graceful-delete", "grpc-probe", "resize"]
)
def test_the_agent_reaches_the_state_of_the_kubelet(name: str) -> None:
    seen = verdicts(name)
    standings = [(pod, verdict.relation) for sample in seen for pod, verdict in sample.items()]
    assert {pod for pod, _ in standings} == {pod for pod, relation in standings if relation == "same"} != set()
    assert not [pod for pod, relation in standings if relation == "different"]
    assert sum(relation == "same" for _, relation in standings) > len(standings) / 2


def test_differences_of_evicted_pods_are_not_certain() -> None:
    found = {verdict for sample in verdicts("memory-pressure") for verdict in sample.values()}
    assert any(verdict.relation == "different" and "Evicted" in verdict.detail for verdict in found)
    assert not any(verdict.certain for verdict in found)
