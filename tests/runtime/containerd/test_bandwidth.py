"""Bandwidth limits: the effect of a pod's annotations on its links, and measured traffic."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.stopwatch import Stopwatch
from kubesim.cni.exec.process import RealExec
from kubesim.concurrency import TaskSet
from kubesim.linux.private_node.holder_client import PrivateNode
from kubesim.linux.private_node.private import NETNS_DIR
from kubesim.runtime.containerd.cni_nodes import CniNodes
from kubesim.runtime.network.node_network import NodeRequest
from kubesim.runtime.network.real_network import RealNetwork
from kubesim.runtime.network.real_ports import Silences
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.play.settings import cni_settings, node_plans
from kubesim.scenario.runtimes.paced import RealParts
from kubesim.shell import HttpAnswer, Listener
from tests.support.machine.cni_runs import ON_THE_HOST, POD, SPEC

T = TypeVar("T")
ANNOTATIONS = "annotations: {kubernetes.io/ingress-bandwidth: 2M, kubernetes.io/egress-bandwidth: 4M}"


def with_a_pod(manifest: str, more: str, read: Callable[[PrivateNode], T]) -> T:
    """The state of a node on which a pod runs."""
    scenario = parse_scenario(SPEC.format(more=more) + manifest, "x.yaml", overlay=ON_THE_HOST)
    real = CniNodes(cni_settings(scenario.spec), node_plans(scenario.spec))

    async def main() -> None:
        async with TaskSet() as tasks:
            await tasks.run_until(Simulation(scenario, 0, tasks, real=RealParts(real)).run(until=5 * SECOND))

    try:
        run_virtual(main)
        return read(real.nodes[0].node)
    finally:
        real.close()


def queues(node: PrivateNode) -> list[dict[str, Any]]:
    run = RealExec(spawn=node.spawn).exec_plugin("/bin/bash", b"tc -j qdisc show", {"PATH": os.environ["PATH"]})
    found: list[dict[str, Any]] = json.loads(asyncio.run(run))
    return found


def test_annotations_limit_the_links_of_a_pod() -> None:
    manifest = POD.format(name="pod").replace("{name: pod}", f"{{name: pod, {ANNOTATIONS}}}")
    limits = [queue for queue in with_a_pod(manifest, "", queues) if queue["kind"] == "tbf"]
    rates = {queue["dev"][:3]: queue["options"]["rate"] * 8 for queue in limits}
    assert rates == {"vet": 2_000_000, "bwp": 4_000_000}


def seconds_for(node: PrivateNode, count: int) -> float:
    """Seconds of real time for this many bytes from the pod."""

    async def fetched() -> float:
        network = RealNetwork(LoopClock(), node, Silences())
        ports = network.new_ports()
        [ports.netns] = node.files(NETNS_DIR)
        listener = ports.listen(Listener(99, answer=lambda request: HttpAnswer(200, "x" * count)))
        watch = Stopwatch()
        response = await network.http_get(NodeRequest("http", "10.9.0.2", 99, "/", "http://10.9.0.2:99/"), SECOND)
        took = watch.seconds()
        ports.close(listener)
        assert len(response.body) == count
        return took

    return run_virtual(fetched)


def test_traffic_takes_as_long_as_the_limit_requires(tmp_path: Path) -> None:
    """A network whose own limit has almost no burst; containerd gives those of annotations a burst of four gigabits."""
    ipam = {"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/24"}]]}
    limit = {"type": "bandwidth", "egressRate": 4_000_000, "egressBurst": 400_000}
    bridge = {"type": "bridge", "bridge": "b", "isGateway": True, "ipam": ipam}
    network = {"cniVersion": "1.0.0", "name": "limited", "plugins": [bridge, limit]}
    (tmp_path / "10-limited.conflist").write_text(json.dumps(network))
    more = f"cni: {{confDir: {tmp_path}}}"
    took = with_a_pod(POD.format(name="pod"), more, lambda node: seconds_for(node, 250_000))
    assert took > 0.3  # two megabits
