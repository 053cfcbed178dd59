"""A simulated node: its disk, its container runtime, and its agent. Runtime and agent can stop and start again.

An agent is one life of the kubelet with all that is in its memory: sources, mux, Events, connections. It can end at any
time; the runtime then keeps its sandboxes and containers, and the next agent starts from them, the disk and its
sources.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node, Taint
from kubesim.api.timestamps import SECOND
from kubesim.clock.clock import SkewedClock
from kubesim.cluster.connection import ApiConnection
from kubesim.kubelet.admission.node_admission import NodeAdmission
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.cm.machine import MachineError
from kubesim.kubelet.node.node_status import Heartbeat, initial_node
from kubesim.runtime.allocation.cgroups import PodCgroups
from kubesim.runtime.containerd.cni_settings import NetworkPicture
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.images.pull_records import PullRecords
from kubesim.runtime.pod_directories import PodDirectories
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.simulated.containers.programs import Programs
from kubesim.runtime.simulated.log_files import SimulatedLogFiles
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.service import RuntimeService, refusal
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.runtime.traced import TracedRuntime
from kubesim.scenario.hardware.node_machine import visible_cpuset
from kubesim.scenario.language.document import NodeItem, Spec
from kubesim.scenario.play.node.machine import Machine
from kubesim.scenario.play.node.node_agent import NodeAgent
from kubesim.scenario.play.node.node_context import NodeContext
from kubesim.scenario.play.node.static_sources import file_plan
from kubesim.scenario.play.settings import (
    CONTAINERD,
    behaviours,
    coming_up,
    kubelet_settings,
    pod_cidrs,
    runtime_settings,
)
from kubesim.scenario.runtimes.plugin import NodeSetting, NodeSupplies
from kubesim.sources.checkpoint import CheckpointDirectory, CheckpointStore, MemoryCheckpoints
from kubesim.sources.manifests.simulated_files import SimulatedFiles
from kubesim.trace.records import Note
from kubesim.values import replace

if TYPE_CHECKING:
    from kubesim.runtime.containerd.sandboxed_runtime import SandboxedRuntime
    from kubesim.runtime.docker.runtime import DockerRuntime
    from kubesim.scenario.faults.files import StateFiles
    from kubesim.scenario.faults.interceptor import Interceptor
    from kubesim.scenario.hardware.device_plugins import DevicePlugins
    from kubesim.scenario.hardware.dra_drivers import DraDrivers

Containers = Literal["kept", "gone"]
RESTART_AFTER = 10 * SECOND  # RestartSec of the kubelet's unit


class SimulatedNode:
    """A simulated node. `kubelet` is the current agent, or the last one while none is running."""

    def __init__(self, context: NodeContext, number: int, item: NodeItem) -> None:
        self._skewed = SkewedClock(context.clock) if any(step.clock_jump for step in context.spec.steps) else None
        if self._skewed is not None:
            context = replace(context, clock=self._skewed)
        self._context = context
        self.gates = context.gates  # of the current agent
        self.name = item.name
        self._number = number
        self.live = context.live if context.live is not None and context.live.is_for(item.name) else None
        clock, spec = context.clock, context.spec
        self._randomness = context.randomness.derived("node", item.name, scope=(item.name,))
        configuration = spec.kubelet_configuration
        stream = self._randomness.stream("phases")
        settings = kubelet_settings(item, number, configuration, stream, context.gates.rules)
        self._settings = replace(settings, list_duration=context.latencies.list)
        if context.real is not None and context.real.host_ips:
            self._settings = replace(self._settings, host_ips=context.real.host_ips)
        if self.live is not None and (endpoint := self.live.endpoint(item.name)) is not None:
            self._settings = replace(self._settings, host_ips=endpoint[:1], port=endpoint[1])

        # Survives the agent.
        self.disk = KubeletDisk(
            pulls=PullRecords(configuration.verification),
            directories=PodDirectories(item.directory_errors),
            cgroups=PodCgroups(item.cgroup_errors),
        )
        self.manifests = SimulatedFiles(file_plan(spec).path)
        self.checkpoints = _checkpoint_store(spec)
        self.state_files: StateFiles | None = None  # set if the state files of the kubelet can have faults
        self._retry: asyncio.TimerHandle | None = None  # restarts a kubelet that exited at its start
        if context.interceptor is not None:
            self._intercept_files(context.interceptor)
        self.log_files = SimulatedLogFiles()
        self.volumes = NodeVolumes(clock.now, context.storage, {"/etc/hostname": f"{item.name}\n", **item.files})
        self.device_plugins = self._make_device_plugins(item)
        self.dra_drivers = self._make_dra_drivers(item)
        self.api = ApiConnection()
        self.network = context.network
        if context.real is not None:
            from kubesim.runtime.network.real_network import RealNetwork

            self.network = RealNetwork(clock, context.real.nodes[number].node, context.real.silences)
        self._sandboxed: SandboxedRuntime | DockerRuntime | None = None  # the runtime, if pods have real networks
        self._docker: DockerRuntime | None = None  # the runtime, if the kubelet uses docker
        self.runtime = self._make_runtime(number)
        self.supplies = self._make_supplies(number)
        refused = refusal if self._docker is None else self._docker.refusal
        limits_all_calls = context.interceptor is not None or context.plugin is not None
        self.service = RuntimeService(self._traced(), clock, refused, limits_all_calls=limits_all_calls)

        self._register(item)
        self.api.listen(lambda up: self._signs_of_life())
        self._lives = 1
        self._disturbed_at = 0  # when the agent or its connection to the API server last started or stopped
        self._agent = NodeAgent(self, context, self._settings, self._randomness)
        self._running = False
        self.why_not_started = ""  # the error with which the kubelet exits at its start
        self.is_on = True

    def _intercept_files(self, interceptor: Interceptor) -> None:
        """Let the files that survive the agent have faults."""
        from kubesim.scenario.faults.files import InterceptedCheckpoints, InterceptedFiles, StateFiles

        self.manifests = InterceptedFiles(self.manifests.path, self.name, interceptor)
        if interceptor.concerns("disk", "WriteCheckpoint"):
            self.state_files = StateFiles(self.name, interceptor)
            self.disk = self.state_files.on_disk(self.disk)
            if self.checkpoints is not None:
                self.checkpoints = InterceptedCheckpoints(self.checkpoints, self.state_files)

    def _register(self, item: NodeItem) -> None:
        """Create the node and its lease at the API server."""
        context = self._context
        clock, store, spec = context.clock, context.store, context.spec
        configuration = spec.kubelet_configuration
        self._node = initial_node(
            self._settings,
            clock.now(),
            labels=item.labels,
            taints=(*(Taint.from_json(taint) for taint in item.taints), *configuration.taints),
            capacity=item.capacity,
            config=configuration.node_allocatable,
            provider_id=configuration.values["providerID"],
            gates=self.gates,
        )
        self._publish_devices(store.create(self._node))
        self.machine = Machine(clock, self.runtime, self._node, configuration.reserved, behaviours(spec), item.image_fs)
        self._heartbeat = Heartbeat(
            clock,
            item.name,
            self._randomness.stream("lease"),
            jitter=self._settings.jitter,
            duration_s=self._settings.lease_duration_s,
        )
        store.create(self._heartbeat.lease())
        if (live := self.live) is not None:
            beat = self._heartbeat
            beat.on_renewal = lambda: live.renewed_lease(item.name, context.recorder, beat.lease)

    def _make_device_plugins(self, item: NodeItem) -> DevicePlugins | None:
        if not item.device_plugins:
            return None
        from kubesim.scenario.hardware.device_plugins import device_plugins, files_on_host

        for path, text in files_on_host(item.device_plugins):
            self.volumes.host.write(path, text)
        return device_plugins(item.device_plugins, self._context.clock, self._context.recorder, item.name)

    def _make_dra_drivers(self, item: NodeItem) -> DraDrivers | None:
        if not item.dra_drivers:
            return None
        from kubesim.scenario.hardware.dra_drivers import dra_drivers

        context = self._context
        return dra_drivers(item, context.clock, self._randomness, context.recorder, context.store.find)

    def _publish_devices(self, node: ApiObject) -> None:
        """Publish ResourceSlices, as DRA drivers do at their start: the scheduler finds their devices there."""
        if self.dra_drivers is not None:
            for resource_slice in self.dra_drivers.slices(node.metadata):
                self._context.store.create(resource_slice)

    def _make_runtime(self, number: int) -> SimulatedRuntime:
        context, settings = self._context, self._settings
        options = runtime_settings(number, context.spec, context.latencies, context.gates.rules)
        lessons = None if self.live is None else self.live.lessons
        if lessons is not None:
            from kubesim.runtime.simulated.containers.replayed import RealImages

            options = replace(options, images=RealImages(options.images, lessons))
        self.programs = programs = Programs(
            context.clock,
            self._randomness,
            context.recorder,
            self.network,
            self.volumes,
            node=self.name,
            host_ip=settings.host_ips[0],
            behaviours=behaviours(context.spec, context.dependencies),
            exec_time=options.latencies.exec,
            log_files=self.log_files,
            output=context.output,
            lessons=lessons,
            cdi={} if self.dra_drivers is None else self.dra_drivers.cdi,
            cpuset=visible_cpuset(settings.resource_managers),
        )
        runtime = self._runtime_of_profile(number, programs, options)
        programs.on_pause_exit = runtime.pause_exited
        runtime.on_change(lambda uid: None if runtime.knows_pod(uid) else programs.forget(uid))
        return runtime

    def _runtime_of_profile(self, number: int, programs: Programs, options: SimulatedSettings) -> SimulatedRuntime:
        context = self._context
        if context.gates.rules.sandbox_order != CONTAINERD:
            self._docker = self._docker_runtime(number, programs, options)
            return self._docker
        if context.spec.cni.plugin is not None or context.spec.nodes[number].docker is not None:
            from kubesim.scenario.play.node.docker_plans import refuse_docker

            refuse_docker(number, context.spec)
        runtime = self._real_runtime(number, programs, options) or SimulatedRuntime(
            context.clock, self._randomness, programs, options
        )
        runtime.trace_to(context.recorder, self.name)
        return runtime

    def _docker_runtime(self, number: int, programs: Programs, options: SimulatedSettings) -> DockerRuntime:
        """In profiles v1.6 and v1.12 the kubelet itself makes sandboxes and calls network plugins."""
        from kubesim.runtime.docker.make import simulated_runtime
        from kubesim.scenario.play.node.docker_plans import docker_plan

        context = self._context
        plan = docker_plan(number, context.spec, pod_cidrs(number, context.spec)[0], context.gates.rules)
        given = (context.clock, self._randomness, programs, options, context.recorder)
        if context.real is None:
            return simulated_runtime(plan, *given, self.name)
        self._sandboxed = runtime = context.real.nodes[number].docker_runtime(plan, *given)
        return runtime

    def _real_runtime(self, number: int, programs: Programs, options: SimulatedSettings) -> SandboxedRuntime | None:
        """The runtime for pods with real networks, if this run has real nodes."""
        if self._context.real is None:
            return None
        context, real = self._context, self._context.real.nodes[number]
        if context.interceptor is not None:
            from kubesim.scenario.faults.plugins import InterceptedExec

            interceptor = context.interceptor
            real.around_exec = lambda exec: InterceptedExec(exec, self.name, interceptor)
            if interceptor.concerns("disk", "WriteCniCache"):
                from kubesim.scenario.faults.files import CniCacheWrites

                real.cache_written = CniCacheWrites(self.name, interceptor)
        runtime = real.runtime(context.clock, self._randomness, programs, options, context.recorder)
        context.tasks.start(f"{self.name} cni conf", real.follow_configuration(context.clock, runtime))
        self._sandboxed = runtime
        return runtime

    def _make_supplies(self, number: int) -> NodeSupplies:
        """What the kubelet works with. With a plugin, the simulated runtime stays empty."""
        context = self._context
        if context.plugin is None:
            return NodeSupplies(self.runtime)
        supplies = context.plugin.node(NodeSetting.of(context, self.name, number, self._randomness))
        disk = self.disk
        self.disk = replace(disk, logs=supplies.logs or disk.logs, cgroups=supplies.cgroups or disk.cgroups)
        return supplies

    @property
    def runs_real_containers(self) -> bool:
        """Whether its containers are not simulated: `runtime`, `programs` and `volumes` are empty."""
        return self._context.plugin is not None

    def _traced(self) -> Runtime:
        recorder, interceptor = self._context.recorder, self._context.interceptor
        inner = self.supplies.runtime
        if interceptor is not None:
            from kubesim.scenario.faults.runtime import InterceptedRuntime

            real = self._context.real is not None
            traced: TracedRuntime = InterceptedRuntime(inner, recorder, self.name, interceptor, real=real)
        elif not self._context.traced:
            return inner
        else:
            traced = TracedRuntime(inner, recorder, self.name)
        self.runtime.on_exit(lambda identifier, exit: traced.exited(identifier, exit.code, exit.reason))
        return traced

    @property
    def kubelet(self) -> Kubelet:
        return self._agent.kubelet

    @property
    def kubelet_runs(self) -> bool:
        return self._running

    def admission(self) -> NodeAdmission:
        return NodeAdmission(self._known_node, self.gates)

    def _known_node(self) -> Node:
        """The Node at the API server; if it is gone, the Node that the agent registered."""
        found = self._context.store.find("Node", "", self.name)
        return found if isinstance(found, Node) else self._node

    # -- starting and stopping -----------------------------------------------------------------------------------

    def start(self, profile: str = "") -> None:
        """Start the agent. The first one was created with the node; each later start creates a new one, like a new
        kubelet process.

        A `profile` gives the new agent another version.
        """
        if self._agent.ended:
            if profile:
                self.gates = self._context.spec.gates_of(profile)
            if problem := self._problem_of_files():
                self._exits(problem)
                return
            self._lives += 1
            randomness = self._randomness.derived("agent", str(self._lives))
            settings = coming_up(self._settings, randomness.stream("phases"))
            self._agent = NodeAgent(self, self._context, settings, randomness)
            if self._docker is not None and self.gates.rules.sandbox_order != CONTAINERD:
                self._docker.kubelet_starts()  # later kubelets use docker through a shim, which keeps running
        try:
            self._agent.start()
        except MachineError as error:
            if self._lives == 1:
                raise
            self._context.tasks.start("kubelet exits", self._agent.end())
            manager = "memory" if str(error).startswith("[memorymanager]") else "cpu"
            self._exits(f"start {manager} manager error: {error}")
            return
        self._running, self.why_not_started = True, ""
        self._signs_of_life()

    def _problem_of_files(self) -> str:
        """Why the kubelet cannot start with its state files; empty if it can."""
        if self.state_files is None:
            return ""
        from kubesim.kubelet.start_problem import start_problem

        self.state_files.kubelet_starts()
        managers = self._settings.resource_managers
        return start_problem(self.state_files.damaged, self.disk.user_namespaces, managers, self.gates)

    def _exits(self, problem: str) -> None:
        """The kubelet exits at its start, and systemd restarts it repeatedly."""
        clock, self.why_not_started = self._context.clock, problem
        text = f"the kubelet exits, and systemd restarts it after {RESTART_AFTER // SECOND} s: {problem}"
        self._context.recorder.record(Note(node=self.name, text=text))
        self._retry = clock.call_at(clock.now() + RESTART_AFTER, self.start)

    def begin_story(self) -> None:
        """Begin to record the trace; a docker runtime adds how it started."""
        if self._docker is not None:
            self._docker.begin_story()

    def withdraw_real_sources(self) -> None:
        """Detach the kubelet from real files and URLs, which kubesim must not change."""
        self._agent.withdraw_real_sources()

    @property
    def config_is_open(self) -> bool:
        return self._running and self._agent.config_is_open

    def close_config(self) -> None:
        """Close the channel to the sync loop: the kubelet gets no more pod updates."""
        self._agent.close_config()

    async def stop_kubelet(self) -> None:
        """Kill the agent, whatever it is doing."""
        self._running = False
        if self._retry is not None:
            self._retry.cancel()
        if self.device_plugins is not None:
            self.device_plugins.kubelet_is_gone()
        if self.dra_drivers is not None:
            self.dra_drivers.kubelet_is_gone()
        self._signs_of_life()
        await self._agent.end()

    def last_disturbance(self) -> int:
        """The time of the last start or stop of the agent, the runtime or the API connection, or of the last fault."""
        faults = self._context.interceptor
        return max(self._disturbed_at, self.service.disturbed_at, 0 if faults is None else faults.disturbed_at)

    def _signs_of_life(self) -> None:
        """Update the node's heartbeat: it is alive while its agent runs and can reach the API server."""
        self._disturbed_at = self._context.clock.now()
        health = self._context.health
        if self._running and self.api.up:
            self._heartbeat.resume()
            health.is_reporting(self.name)
        else:
            health.stopped_reporting(self.name, self._heartbeat.pause())

    def stop_runtime(self, containers: Containers = "kept") -> None:
        """Stop the runtime. Its containers keep running, or with `gone` the runtime will have lost them when it is
        back."""
        self.service.stop()
        self.runtime.go_down()
        if containers == "gone":
            self.runtime.lose_everything()

    def start_runtime(self) -> None:
        self.runtime.start_up()
        self.service.start()

    async def power_off(self) -> None:
        """Power the machine off: everything on it ends at this instant. The runtime's records on disk report dead
        containers."""
        self.is_on = False
        await self.stop_kubelet()
        self.service.stop()
        self.runtime.go_down()
        self.runtime.lose_processes()
        self.disk = replace(self.disk, cgroups=PodCgroups())
        self.volumes.lose_memory()

    def set_clock(self, by: int) -> None:
        """Set the wall clock forward, or back if negative."""
        assert self._skewed is not None
        self._skewed.skew += by

    def power_on(self) -> None:
        self.is_on = True
        self.start_runtime()
        self.start()

    async def run_on_machine(self, script: str) -> None:
        """Run a shell script in the real network of a private node. Raises PluginError; virtual time does
        not advance."""
        from kubesim.cni.exec.context import BACKGROUND
        from kubesim.cni.exec.process import RealExec

        assert self._context.real is not None
        node = self._context.real.nodes[self._number].node
        path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        await RealExec(spawn=node.spawn).exec_plugin("/bin/sh", script.encode(), path, BACKGROUND)

    @property
    def has_private_network(self) -> bool:
        """Whether its pods have real networks that are separate from this machine's."""
        return self._context.real is not None and not self._context.real.host_ips

    def network_picture(self) -> NetworkPicture | None:
        """The current state of the real networks of this node and its pods."""
        if self._context.real is None or self._sandboxed is None:
            return None
        real = self._context.real.nodes[self._number].node
        pods = self._sandboxed.network_namespaces()
        return NetworkPicture(self.name, real.network(), {pod: real.network(netns) for pod, netns in pods.items()})

    # -- the end of the run --------------------------------------------------------------------------------------

    def renew_lease(self) -> None:
        """Update the lease at the API server for the client that reads it."""
        lease, store = self._heartbeat.lease(), self._context.store
        old = store.get("Lease", lease.metadata.namespace, lease.metadata.name)
        store.replace(lease.changed(metadata=old.metadata))

    async def close(self) -> None:
        self.renew_lease()
        if self._running or self._retry is not None:
            await self.stop_kubelet()
        if self._sandboxed is not None:
            self._sandboxed.close()


def _checkpoint_store(spec: Spec) -> CheckpointStore | None:
    wanted = spec.sources.bootstrap_checkpoint
    if wanted is None:
        return None
    return CheckpointDirectory(wanted.path) if wanted.path else MemoryCheckpoints()
