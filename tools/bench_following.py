"""`make bench` of following a node: CPU share and memory of `kubesim attach`, with and without the agent.

The "real" node is a simulated one with its API server in a separate process. Its past is simulated in virtual time;
then it runs in real time. 100 of its 500 pods crash two seconds after each start. The kernel accounts the CPU time of
`kubesim attach` (/proc/PID/stat).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.stopwatch import Stopwatch
from kubesim.cluster.registry.bootstrap import bootstrap
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.concurrency import TaskSet
from kubesim.scenario.load.loader import parse_scenario
from kubesim.values import value_object
from tests.support.cluster.kubeconfig import kubeconfig
from tools.process_costs import cpu_seconds, peak_megabytes

PODS, CRASHING, NODE = 500, 100, "node-a"
AGE_S = 900  # maximum age of the pods at the start, at which crash back-offs are longest
WARM_UP_S, STEADY_S = 20, 20
SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: followed}
spec:
  nodes: [{name: node-a, capacity: {pods: "1000"}}]
  kubeletConfiguration: {maxPods: 1000}
  images: [{name: "nginx:1.27", present: true}]
"""
PROGRAM = "from tools.bench_following import serve; serve()"


@value_object
class Cost:
    """The resources of a process in the steady state."""

    percent: float  # of a core
    megabytes: float


def serve() -> None:
    """Simulate the past in virtual time until now, then print the address."""
    watch, begin = Stopwatch(), asyncio.run(_wall_clock())

    def now() -> int:
        return begin + round(watch.seconds() * SECOND)

    async def main() -> None:
        async with TaskSet() as tasks:
            simulation = Simulation(parse_scenario(SCENARIO, "followed.yaml"), 0, tasks, start=begin - AGE_S * SECOND)
            bootstrap(simulation.store)
            simulation.begin_attached()
            await tasks.run_until(_served(simulation, now))

    run_virtual(main)


async def _wall_clock() -> int:
    return LoopClock().now()


async def _served(simulation: Simulation, now: Callable[[], int]) -> None:
    clock = simulation.clock
    for number in range(PODS):
        container: dict[str, Any] = {"name": "main", "image": "nginx:1.27"}
        if number % (PODS // CRASHING) == 0:
            container["command"] = ["sh", "-c", "sleep 2; exit 1"]
        body = {"metadata": {"name": f"pod-{number}"}, "spec": {"nodeName": NODE, "containers": [container]}}
        create(simulation.store, Target(RESOURCES["Pod"], "default"), body)
        await clock.sleep(300 * SECOND // PODS)  # spreads crashes over the longest back-off
    while (behind := now() - clock.now()) > SECOND // 10:
        await clock.sleep(behind)
    clock.begin(speed=1)
    server = ClusterServer(simulation.store, clock)
    await server.start()
    print(server.address, flush=True)
    await asyncio.Event().wait()


@contextmanager
def real_node() -> Iterator[str]:
    """The address of the simulated node's API server."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def restarts(address: str) -> int:
    with urllib.request.urlopen(f"{address}/api/v1/pods") as answer:
        pods = json.load(answer)["items"]
    return sum(status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"])


def figures(*variants: list[str]) -> tuple[float, list[Cost]]:
    """Restarts per second on the node, and the cost of `kubesim attach` with each set of arguments."""
    with tempfile.TemporaryDirectory() as directory, real_node() as address, ExitStack() as stack:
        config = kubeconfig(Path(directory) / "config", address, {})
        plain = [sys.executable, "-m", "kubesim", "attach", "--node", NODE, "--kubeconfig", config]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes = [stack.enter_context(subprocess.Popen([*plain, *more], **quiet)) for more in variants]  # type: ignore[call-overload]
        try:
            _wait(WARM_UP_S)
            watch, before = Stopwatch(), restarts(address)
            begun = [cpu_seconds(process.pid) for process in processes]
            _wait(STEADY_S)
            used = [cpu_seconds(process.pid) - then for process, then in zip(processes, begun, strict=True)]
            seconds = watch.seconds()
            costs = [
                Cost(100 * cpu / seconds, peak_megabytes(process.pid))
                for cpu, process in zip(used, processes, strict=True)
            ]
            return (restarts(address) - before) / seconds, costs
        finally:
            for process in processes:
                process.terminate()


def _wait(seconds: float) -> None:
    asyncio.run(asyncio.sleep(seconds))
