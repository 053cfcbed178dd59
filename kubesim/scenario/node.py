"""A simulated node: what is on its disk, its container runtime, and its agent, each of which can go and come back.

An agent is one life of the kubelet with all that is in its memory: sources, mux, Events, connections. When it ends,
at whatever moment, the runtime keeps its sandboxes and containers, and the next agent starts from those, from the disk
and from what its sources tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from kubesim.api.node import Node, Taint
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.store import Store
from kubesim.concurrency import TaskSet
from kubesim.features import FeatureGates
from kubesim.kubelet.admission.node_admission import NodeAdmission
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.events import KubeletEvents
from kubesim.kubelet.node_care import NodeParts
from kubesim.kubelet.node_status import Heartbeat, initial_node
from kubesim.kubelet.settings import KubeletSettings
from kubesim.runtime.cgroups import PodCgroups
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.pull_records import PullRecords
from kubesim.runtime.simulated.log_files import SimulatedLogFiles
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.runtime.simulated.programs import Programs
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.service import RuntimeService
from kubesim.runtime.traced import TracedRuntime
from kubesim.scenario.language import NodeItem, Spec
from kubesim.scenario.machine import Machine
from kubesim.scenario.node_health import NodeHealth
from kubesim.scenario.settings import behaviours, coming_up, kubelet_settings, runtime_settings
from kubesim.sources import file, memory
from kubesim.sources.config import ConfigStream, Source
from kubesim.sources.file import FileSource
from kubesim.sources.memory import ClusterSource
from kubesim.sources.simulated_files import SimulatedFiles
from kubesim.trace import Recorder

API_LATENCIES = ApiLatencies(get=2 * MILLISECOND, patch=5 * MILLISECOND)
WATCH_LATENCY = 5 * MILLISECOND
NODE_SYNC = 1 * SECOND  # pods are asked for once the agent has seen its own node; it looks every second

Containers = Literal["kept", "gone"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all nodes of a simulation share."""

    clock: LoopClock
    randomness: Randomness
    recorder: Recorder
    tasks: TaskSet
    store: Store
    network: SimulatedNetwork
    spec: Spec
    gates: FeatureGates
    traced: bool
    every_tick: bool
    health: NodeHealth


class SimulatedNode:
    """`kubelet` is the agent of now, or the last one while there is none."""

    def __init__(self, around: Surroundings, number: int, item: NodeItem) -> None:
        self._around = around
        self.name = item.name
        clock, store, spec = around.clock, around.store, around.spec
        self._randomness = Randomness(around.randomness.stream("node", item.name).getrandbits(62))
        self._settings = kubelet_settings(
            item.name,
            number,
            spec.kubelet_configuration,
            self._randomness.stream("phases"),
            every_tick=around.every_tick,
        )

        # What outlives the agent.
        self.disk = KubeletDisk(pulls=PullRecords(spec.kubelet_configuration.verification_policy))
        self.manifests = SimulatedFiles()
        self.log_files = SimulatedLogFiles()
        self.api = ApiConnection()
        self.runtime = self._make_runtime(number)
        self.service = RuntimeService(self._traced())

        # The node at the API server.
        taints = tuple(Taint.from_json(taint) for taint in item.taints)
        self._node = initial_node(
            self._settings, clock.now(), labels=item.labels, taints=taints, capacity=item.capacity
        )
        store.create(self._node)
        self.machine = Machine(clock, self.runtime, self._node, behaviours(spec), item.image_fs)
        self._heartbeat = Heartbeat(
            item.name, clock.now(), self._randomness.stream("lease"), jitter=self._settings.jitter
        )
        store.create(self._heartbeat.lease(clock.now()))

        self.api.listen(lambda up: self._signs_of_life())
        self._lives = 1
        self._agent = _Agent(self, around, self._settings, self._randomness)
        self._running = False

    def _make_runtime(self, number: int) -> SimulatedRuntime:
        around, settings = self._around, self._settings
        options = runtime_settings(number, around.spec)
        programs = Programs(
            around.clock,
            self._randomness,
            around.recorder,
            around.network,
            around.store.find,
            node=self.name,
            host_ip=settings.host_ips[0],
            behaviours=behaviours(around.spec),
            exec_time=options.latencies.exec,
            log_files=self.log_files,
        )
        runtime = SimulatedRuntime(around.clock, self._randomness, programs, options)
        runtime.on_change(lambda uid: None if runtime.knows_pod(uid) else programs.forget(uid))
        return runtime

    def _traced(self) -> Runtime:
        if not self._around.traced:
            return self.runtime
        traced = TracedRuntime(self.runtime, self._around.recorder, self.name)
        self.runtime.on_exit(lambda identifier, exit: traced.exited(identifier, exit.code, exit.reason))
        return traced

    @property
    def kubelet(self) -> Kubelet:
        return self._agent.kubelet

    @property
    def kubelet_runs(self) -> bool:
        return self._running

    def admission(self) -> NodeAdmission:
        return NodeAdmission(self._known_node, self._around.gates)

    def _known_node(self) -> Node:
        """As the API server has it; what the agent made of it if that is gone."""
        found = self._around.store.find("Node", "", self.name)
        return found if isinstance(found, Node) else self._node

    # -- going and coming ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """The first agent was made with the node; every further one is new, and comes up as a young kubelet does."""
        if self._agent.ended:
            self._lives += 1
            randomness = Randomness(self._randomness.stream("agent", str(self._lives)).getrandbits(62))
            settings = coming_up(self._settings, randomness.stream("phases"))
            self._agent = _Agent(self, self._around, settings, randomness)
        self._agent.start()
        self._running = True
        self._signs_of_life()

    async def stop_kubelet(self) -> None:
        """Kill the agent, whatever it is doing."""
        self._running = False
        self._signs_of_life()
        await self._agent.end()

    def _signs_of_life(self) -> None:
        """The cluster hears of a node while its agent runs and has a way to the API server."""
        now, health = self._around.clock.now(), self._around.health
        if self._running and self.api.up:
            self._heartbeat.resume(now)
            health.is_heard(self.name)
        else:
            health.fell_silent(self.name, self._heartbeat.pause(now))

    def stop_runtime(self, containers: Containers = "kept") -> None:
        """The runtime goes down. Its containers go on, or else it will know nothing of them when it is back."""
        self.service.stop()
        if containers == "gone":
            self.runtime.lose_everything()

    def start_runtime(self) -> None:
        self.service.start()

    async def power_off(self) -> None:
        """Everything on the node ends at this instant; what the runtime has on its disk tells of dead containers."""
        await self.stop_kubelet()
        self.service.stop()
        self.runtime.lose_processes()
        self.disk = replace(self.disk, cgroups=PodCgroups())

    def power_on(self) -> None:
        self.service.start()
        self.start()

    # -- the end ------------------------------------------------------------------------------------------------

    def renew_lease(self) -> None:
        """Bring the lease at the API server up to date, for whoever looks at it."""
        self._around.store.replace(self._heartbeat.lease(self._around.store.now()))

    async def close(self) -> None:
        self.renew_lease()
        if self._running:
            await self.stop_kubelet()


class _Agent:
    """One life of the kubelet on a node."""

    def __init__(
        self, node: SimulatedNode, around: Surroundings, settings: KubeletSettings, randomness: Randomness
    ) -> None:
        clock, recorder, name = around.clock, around.recorder, node.name
        self.ended = False
        self._clock = clock
        self._tasks = around.tasks.child()
        client = MemoryClient(clock, around.store, API_LATENCIES, node.api)
        self._events = KubeletEvents(client, name, clock, recorder, randomness.stream("events"))
        self._config = ConfigStream(clock, recorder, (file.SOURCE, memory.SOURCE), name)
        self._file_source = FileSource(
            clock,
            self._tasks,
            recorder,
            self._config,
            node.manifests,
            name,
            period=around.spec.sources.file.check_every,
            every=around.every_tick,
            gates=around.gates,
        )
        self._api_source = ClusterSource(clock, around.store, self._config, name, WATCH_LATENCY, node.api)
        self._connection = node.service.connect()
        self.kubelet = Kubelet(
            clock,
            randomness,
            recorder,
            self._tasks,
            settings,
            self._connection,
            around.network,
            client,
            self._config,
            self._events,
            list_duration=node.runtime.settings.latencies.list,
            admission=node.admission(),
            gates=around.gates,
            disk=node.disk,
            node_parts=NodeParts(node.machine, self._events, node.log_files),
            find=around.store.find,
        )

    def start(self) -> None:
        self._tasks.start("events", self._events.run())
        self.kubelet.start()
        now = self._clock.now()
        self._clock.call_at(now + self.kubelet.settings.sync_loop_starts, self._start_source, self._file_source)
        self._clock.call_at(now + NODE_SYNC, self._start_source, self._api_source)

    def _start_source(self, source: Source) -> None:
        if not self.ended:
            source.start()

    async def end(self) -> None:
        self.ended = True
        self._file_source.stop()
        self._api_source.stop()
        self._connection.close()
        await self.kubelet.close()
        await self._tasks.kill()
