"""The main loop as a whole: its behaviour while the runtime is down, and the times of its ticks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from kubesim.api.node import Node, NodeCondition
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.kubelet.loop.sync_loop import SyncLoop
from kubesim.runtime.protocol import RuntimeConditions
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import EventRecorded, LoopSelect, Note, Record
from tests.support.played import Played, pod
from tests.support.ticks import ticks

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: for-a-while}}
spec: {{duration: {seconds}s, steps: {steps}}}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: hello}
spec:
  containers: [{name: main, image: "nginx:1.27"}]
"""
SECOND = 1_000_000


def played(
    seconds: int, down: tuple[float, float] | None = None, *steps: str, every_tick: bool = False
) -> list[Record]:
    """The trace of this many seconds of a pod; the runtime reports NotReady during `down`."""
    manifest = SCENARIO.format(seconds=seconds, steps=f"[{', '.join(steps)}]") + POD

    async def main() -> list[Record]:
        sink = MemorySink()
        async with TaskSet() as tasks:
            scenario = parse_scenario(manifest, "test.yaml")
            simulation = Simulation(scenario, 0, tasks, (sink,))
            runtime = simulation.nodes["node-1"].runtime
            if down is not None:
                begin = simulation.clock.now() + 60 * SECOND
                for moment, problem in ((down[0], "containerd is restarting"), (down[1], "")):
                    clock_time = begin + round(moment * SECOND)
                    simulation.clock.call_at(clock_time, runtime.set_conditions, RuntimeConditions(problem))
            await tasks.run_until(simulation.run())
        return sink.records

    with ticks(every_tick=every_tick):
        return run_virtual(main)


def test_while_the_runtime_is_down_the_loop_pauses_for_100_ms_doubling_to_5_s() -> None:
    records = played(60, down=(3, 40))
    pauses = [r.t for r in records if isinstance(r, Note) and r.text.startswith("skipping pod synchronization")]
    gaps = [round((b - a) / SECOND, 3) for a, b in pairwise(pauses)]
    assert gaps[:8] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert "containerd is restarting" in next(r.text for r in records if isinstance(r, Note) and "skipping" in r.text)


def test_nothing_is_handled_while_the_runtime_is_down() -> None:
    records = played(60, (3, 40), "{at: 10s, delete: {pod: hello}}")
    pauses = [r.t for r in records if isinstance(r, Note) and r.text.startswith("skipping pod synchronization")]
    taken = [r.t for r in records if isinstance(r, LoopSelect)]
    assert not [t for t in taken if pauses[0] < t < pauses[-1]]
    assert [t for t in taken if t > pauses[-1]], "the deletion has waited"
    assert len(pauses) > 8


def test_an_idle_pod_causes_no_records() -> None:
    records = played(24 * 3_600)
    assert records[-1].t < 60 * SECOND  # it started, and nothing else
    assert len(records) < 100


def test_ticks_without_effect_are_executed_only_if_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests that compare the two would compare something with itself."""
    executed = Counter[bool]()
    every_tick = False

    async def tick(loop: SyncLoop) -> None:
        executed[every_tick] += 1
        await real(loop)

    real = SyncLoop._housekeeping_tick
    monkeypatch.setattr(SyncLoop, "_housekeeping_tick", tick)
    for every_tick in (False, True):
        played(60, every_tick=every_tick)
    assert executed[False] < 15
    assert executed[True] > 55


def test_a_runtime_failure_is_noticed_as_if_every_tick_were_executed() -> None:
    skipping, executing = (played(60, down=(20.5, 45.5), every_tick=every_tick) for every_tick in (False, True))
    assert [r.to_json() for r in skipping] == [r.to_json() for r in executing]


@pytest.mark.parametrize("seed", range(5))
def test_a_deadline_is_noticed_at_its_tick_although_others_fired_before(seed: int) -> None:
    story = pod("late", command=["sh", "-c", "sleep 2; exit 1"], activeDeadlineSeconds=25)
    noticed = Played({"at": "0s", "apply": story}, seed=seed).when(EventRecorded, "late", reason="DeadlineExceeded")
    assert 24 <= noticed[0] <= 26.5  # the start is reported in whole seconds, and ticks fire once a second


@pytest.mark.parametrize("seed", [27, 105, 157, *range(5)])
def test_a_node_becomes_ready_also_if_it_is_read_before_the_first_listing(seed: int) -> None:
    async def main() -> list[NodeCondition]:
        async with TaskSet() as tasks:
            simulation = Simulation(parse_scenario(SCENARIO.format(seconds=1, steps="[]"), "test.yaml"), seed, tasks)
            await tasks.run_until(simulation.run())
        node = simulation.store.get("Node", "", "node-1")
        assert isinstance(node, Node)
        return [condition for condition in node.status.conditions if condition.type == "Ready"]

    assert [condition.status for condition in run_virtual(main)] == ["True"]
