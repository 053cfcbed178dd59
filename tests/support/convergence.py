"""A node that gets many pods at once from all sources while its runtime fails and hangs: do all pods become ready?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.app import Simulation, raise_failures_of_callbacks
from kubesim.clock import Randomness, run_virtual
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.sources.remote_source_items import ServeManifest
from tests.support.faulty_runtime import FaultyRuntime

SCENARIO = Scenario.model_validate(
    {
        "metadata": {"name": "convergence"},
        "spec": {
            "kubeletConfiguration": {"maxPods": 1000},
            "images": [{"name": "nginx:1", "present": True}],
            "sources": {"http": {}},
        },
    }
)
LIMIT = 24 * 60 * MINUTE


@dataclass(frozen=True, slots=True)
class Converged:
    took: int  # virtual microseconds until every pod was ready
    calls: int
    failed: int
    hung: int


def converge(pods: int, *, failing: float, hanging: float, seed: int = 0) -> Converged:
    """Create a third each of the pods through the API server, files and a url. Raises AssertionError if they are not
    all ready within a day, or a container runs twice.
    """
    return run_virtual(_main, pods, failing, hanging, seed)


async def _main(pods: int, failing: float, hanging: float, seed: int) -> Converged:
    async with TaskSet() as tasks:
        raise_failures_of_callbacks(tasks)
        result: Converged = await tasks.run_until(_converge(tasks, pods, failing, hanging, seed))
        return result


async def _converge(tasks: TaskSet, pods: int, failing: float, hanging: float, seed: int) -> Converged:
    simulation = Simulation(SCENARIO, seed, tasks)
    node, clock = simulation.nodes["node-1"], simulation.clock
    stream = Randomness(seed).stream("faults")
    faulty = FaultyRuntime(node.service.runtime, clock, stream, failing=failing, hanging=hanging)
    node.service.serve(faulty)
    simulation.world.ensure_namespace("default")
    node.start()
    await clock.sleep_until(VIRTUAL_START)
    readiness = _Readiness(simulation)
    for number in range(0, pods, 3):
        simulation.world.apply(_pod(number))
    for number in range(1, pods, 3):
        node.manifests.write(f"{number}.yaml", json.dumps(_pod(number)))
    served = [_pod(number) for number in range(2, pods, 3)]
    simulation.world.serve_manifest(ServeManifest.model_validate({"manifests": served}))
    while len(readiness.ready) < pods and clock.now() < VIRTUAL_START + LIMIT:
        await clock.sleep(SECOND)
    took = clock.now() - VIRTUAL_START
    assert len(readiness.ready) == pods, f"{len(readiness.ready)} of {pods} pods are ready after a day"
    running = [(info.pod_uid, info.name) for info in await node.runtime.list_containers() if info.state == "running"]
    assert len(running) == len(set(running)) == pods
    await node.close()
    return Converged(took, sum(faulty.calls.values()), faulty.failed, faulty.hung)


def _pod(number: int) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "nginx:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec}


class _Readiness:
    """The pods that are ready at the API server."""

    def __init__(self, simulation: Simulation) -> None:
        self.ready: set[str] = set()
        simulation.store.watch("Pod", self._changed)

    def _changed(self, change: WatchEvent) -> None:
        assert isinstance(change.object, Pod)
        name, conditions = change.object.metadata.name, change.object.status.conditions
        if change.type != "DELETED" and any(c.type == "Ready" and c.status == "True" for c in conditions):
            self.ready.add(name)
        else:
            self.ready.discard(name)
