"""Registers simulated nodes at an API server and runs their kubelets until it is stopped.

Mirrors: pkg/kubelet/kubelet_node_status.go registerWithAPIServer, tryRegisterWithAPIServer
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kubesim.api.node import Node
from kubesim.app import Simulation, raise_failures_of_callbacks
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.clock.real_clock import RealClock
from kubesim.clock.wall import wall_now
from kubesim.cluster.remote.connect import connect
from kubesim.cluster.remote.transport import Transport
from kubesim.concurrency import TaskSet
from kubesim.errors import ApiError, UsageError
from kubesim.scenario.language.document import Scenario
from kubesim.trace import Sink
from kubesim.up.control.server import JUMPS, controlled
from kubesim.up.identity import make_identity
from kubesim.up.kubelet.access import KubeletAccess, access_settings
from kubesim.up.kubelet.endpoints import open_endpoints
from kubesim.up.kubelet.server import KubeletServer
from kubesim.up.node.client import STRATEGIC, new_body, request
from kubesim.up.node.holding import HoldingTransport
from kubesim.up.node.mirror import KINDS, follow
from kubesim.up.node.remote_node import RemoteNodes
from kubesim.up.node.settling import settle
from kubesim.up.node.status_patch import changes
from kubesim.values import value_object

SIMULATED = "kubesim.dev/simulated"  # annotation of nodes that kubesim registered


@value_object
class NodeSettings:
    """Settings of the nodes. `duration` is microseconds of real time; None: until it is stopped. `report` gets a line
    about each failure."""

    kubeconfig: str
    context: str
    ready: Callable[[], None]
    report: Callable[[str], None]
    speed: float = 1.0
    duration: int | None = None
    seed: int = 0
    allow_real_nodes: bool = False
    control: Path | None = None  # a Unix socket for commands about the clock
    kubelet_listen: str = ""  # the address of the kubelets; empty: one of its own for each on loopback; or off
    allow_remote: bool = False

    @property
    def fastest(self) -> float:
        """The limits of connections that asyncio counts in virtual time are for this speed."""
        return self.speed if self.control is None else max(self.speed, JUMPS)


def run_nodes(scenario: Scenario, settings: NodeSettings, sinks: Sequence[Sink] = ()) -> None:
    """Run the nodes. Raises UsageError, and KeyboardInterrupt when a signal ends it."""
    run_virtual(_run, scenario, settings, sinks, speed=settings.speed)


async def _run(scenario: Scenario, settings: NodeSettings, sinks: Sequence[Sink]) -> None:
    virtual = LoopClock(wall_now())
    clock, config, context = RealClock(virtual), settings.kubeconfig, settings.context
    server = connect(clock, config, context, may_write=True, request_timeout_s=None, connect_timeout_s=None)
    transport = HoldingTransport(server, virtual)
    try:
        async with TaskSet() as tasks:
            raise_failures_of_callbacks(tasks)
            names = [node.name for node in scenario.spec.nodes]
            known = await _known_nodes(transport, names, settings)
            with open_endpoints(settings.kubelet_listen, names, allowed=settings.allow_remote) as endpoints:
                values = scenario.spec.kubelet_configuration.values
                access = KubeletAccess(await access_settings(values, transport), transport, clock)
                live = RemoteNodes(transport, clock, tasks, settings.report, endpoints)
                simulation = Simulation(scenario, settings.seed, tasks, sinks, live=live, start=wall_now())
                for name in names:
                    await _register(transport, simulation, name, name in known)
                await _simulate(simulation, settings, tasks, live, access)
    finally:
        await server.close()


async def _simulate(
    simulation: Simulation, settings: NodeSettings, tasks: TaskSet, live: RemoteNodes, access: KubeletAccess
) -> None:
    """Run the registered nodes to the end."""
    clock, transport, chance = live.clock, live.transport, Randomness(simulation.clock.now())
    for kind in ("Node", *KINDS):
        stream = chance.stream("copies", kind)
        copies = follow(kind, clock, transport, stream, simulation.store, settings.report)
        tasks.start(f"copies of {kind}", copies.run())
    simulation.begin_attached(settings.speed)
    kubelets = await _serve_kubelets(simulation, settings.fastest, live, access)
    try:
        known_to_all = partial(settle, transport, clock, live.sources)
        async with controlled(settings.control, simulation.clock, known_to_all):
            settings.ready()
            await tasks.run_until(_wait(clock, settings))
    finally:
        for kubelet in kubelets:
            await kubelet.close()
        await simulation.close()


async def _serve_kubelets(
    simulation: Simulation, speed: float, live: RemoteNodes, access: KubeletAccess
) -> list[KubeletServer]:
    """Start the server of each kubelet that has an endpoint. Raises UsageError."""
    servers: list[KubeletServer] = []
    if live.endpoints:
        identity = make_identity(sorted({each.address for each in live.endpoints.values()}))
        for name, endpoint in live.endpoints.items():
            servers.append(server := KubeletServer(simulation, name, live.clock, access))
            await server.start(endpoint, identity.server_tls, speed)
    return servers


async def _wait(clock: RealClock, settings: NodeSettings) -> None:
    if settings.duration is None:
        await asyncio.Event().wait()
    else:
        await clock.sleep(settings.duration)


async def _known_nodes(transport: Transport, names: Sequence[str], settings: NodeSettings) -> set[str]:
    """The nodes with these names that exist in the cluster from an earlier run. Raises UsageError."""
    try:
        items = (await request(transport, "list", "/api/v1/nodes")).get("items") or []
    except ApiError as error:
        raise UsageError(f"cannot list the nodes of the cluster: {error}") from None
    real = [each for each in items if SIMULATED not in (each["metadata"].get("annotations") or {})]
    found = {each["metadata"]["name"] for each in real}
    for name in names:
        if name in found:
            raise UsageError(f"--name {name}: the cluster has a node of that name that is not simulated: name another")
    if real and not settings.allow_real_nodes:
        example = real[0]["metadata"]["name"]
        raise UsageError(
            f"the cluster has {len(real)} nodes that are not simulated, such as {example}: pods of its users could "
            "be bound to simulated nodes and would not run; add --allow-real-nodes if that is what you want"
        )
    return {each["metadata"]["name"] for each in items} & set(names)


async def _register(transport: Transport, simulation: Simulation, name: str, known: bool) -> None:
    """Create the Node, or take over that of an earlier run."""
    node = simulation.store.get("Node", "", name)
    assert isinstance(node, Node)
    try:
        if known:
            path = f"/api/v1/nodes/{name}"
            value = await request(transport, "get", path)
            wanted = {key: node.status.to_json().get(key) for key in ("addresses", "daemonEndpoints")}
            if patch := changes({key: (value.get("status") or {}).get(key) for key in wanted}, wanted):
                value = await request(transport, "patch", f"{path}/status", {"status": patch}, STRATEGIC)
        else:
            body = new_body(node)
            body["metadata"].setdefault("annotations", {})[SIMULATED] = "true"
            for field in ("podCIDR", "podCIDRs"):  # the cluster assigns these
                body.get("spec", {}).pop(field, None)
            value = await request(transport, "create", "/api/v1/nodes", body)
    except ApiError as error:
        raise UsageError(f"cannot register node {name}: {error}") from None
    simulation.store.put(Node.from_json(value))
