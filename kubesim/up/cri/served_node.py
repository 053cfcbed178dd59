"""Composes the node of `kubesim cri serve` from a scenario: images, behaviours and faults; no kubelet, no API server.

The runtime is the one of the first node of the scenario.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kubesim.clock import LoopClock, Randomness
from kubesim.concurrency import TaskSet
from kubesim.runtime.cri.server.containers.host_files import HostFiles
from kubesim.runtime.cri.server.containers.published_ports import HOST_ADDRESS, PublishedNetwork, is_loopback
from kubesim.runtime.cri.server.containers.served_programs import ServedPrograms
from kubesim.runtime.cri.server.images.image_calls import ImageCalls
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.usage.stats_calls import Amounts
from kubesim.runtime.simulated.containers.behaviour import Behaviour
from kubesim.runtime.simulated.containers.container_process import ProcessContext
from kubesim.runtime.simulated.containers.programs import Programs
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.settings import Latencies, SimulatedSettings
from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.scenario.faults.make import fault_states
from kubesim.scenario.faults.runtime import InterceptedRuntime
from kubesim.scenario.language.document import Spec
from kubesim.scenario.play.settings import behaviours, dependencies, host_ip, runtime_settings
from kubesim.trace import Recorder
from kubesim.up.cri.served_images import ServedImages
from kubesim.values import replace, value_object

if TYPE_CHECKING:
    from kubesim.runtime.containerd.cni_nodes import CniNodes

_LATENCIES = Latencies()


@value_object
class ServedParts:
    """The parts of a node. Pods get addresses from `first_ip` on; on loopback, their ports are open there. `real`
    are the nodes of runtime cni."""

    clock: LoopClock
    randomness: Randomness
    recorder: Recorder
    tasks: TaskSet
    first_ip: str = ""
    real: CniNodes | None = None


class NodeMaker:
    """Makes the node in the order of its parts."""

    def __init__(self, spec: Spec, parts: ServedParts) -> None:
        self._spec, self._parts = spec, parts
        self._name = spec.nodes[0].name
        self._simulated: SimulatedRuntime | None = None
        self._behaviours = behaviours(spec, dependencies(spec, self._runs))
        item, clock = spec.nodes[0], parts.clock
        self._volumes = NodeVolumes(clock.now, {}, {"/etc/hostname": f"{item.name}\n", **item.files})
        self._host_files = HostFiles(self._volumes)
        self._network = self._make_network()

    def _runs(self, pod: str) -> bool:
        """Whether a pod of this name has a running container: a runtime knows nothing of its readiness."""
        running = () if self._simulated is None else self._simulated.running()
        names = (context.pod.metadata for context in running)
        return any(f"{metadata.namespace}/{metadata.name}" == pod for metadata in names)

    def _make_network(self) -> SimulatedNetwork:
        parts = self._parts
        if parts.real is not None:
            from kubesim.runtime.network.real_network import RealNetwork

            return RealNetwork(parts.clock, parts.real.nodes[0].node, parts.real.silences)
        return PublishedNetwork(parts.clock) if is_loopback(parts.first_ip) else SimulatedNetwork(parts.clock)

    def _settings(self) -> SimulatedSettings:
        spec = self._spec
        settings = runtime_settings(0, spec, _LATENCIES, spec.gates_of(spec.profile).rules)
        if spec.images:
            settings = replace(settings, images=ServedImages(spec.images, settings.images))
        return replace(settings, first_ip=self._parts.first_ip) if self._parts.first_ip else settings

    def node(self) -> tuple[ServedNode, Interceptor]:
        """The interceptor applies faults; more can be added to it at any time."""
        spec, parts = self._spec, self._parts
        clock, recorder, settings = parts.clock, parts.recorder, self._settings()
        is_published = isinstance(self._network, PublishedNetwork)
        programs = Programs(
            clock,
            parts.randomness,
            recorder,
            self._network,
            self._volumes,
            node=self._name,
            host_ip=HOST_ADDRESS if is_published else host_ip(0),
            behaviours=self._behaviours,
            exec_time=settings.latencies.exec,
        )
        served = ServedPrograms(programs, self._host_files, clock)
        simulated = self._simulated = self._runtime(served, settings)
        programs.on_pause_exit = simulated.pause_exited
        simulated.on_change(lambda uid: None if simulated.knows_pod(uid) else programs.forget(uid))
        stream, faults = parts.randomness.stream("faults"), fault_states(spec.faults)
        interceptor = Interceptor(clock, recorder, parts.tasks, stream, faults, ("*",), active=True)
        runtime = InterceptedRuntime(simulated, recorder, self._name, interceptor, real=parts.real is not None)
        simulated.on_exit(lambda identifier, exit: runtime.exited(identifier, exit.code, exit.reason))
        published = self._network if isinstance(self._network, PublishedNetwork) else None
        images = ImageCalls(runtime, simulated.images, clock)
        return ServedNode(clock, runtime, simulated, served, self._host_files, published, images), interceptor

    def _runtime(self, programs: ServedPrograms, settings: SimulatedSettings) -> SimulatedRuntime:
        parts = self._parts
        if parts.real is None:
            runtime = SimulatedRuntime(parts.clock, parts.randomness, programs, settings)
        else:
            real = parts.real.nodes[0]
            runtime = real.runtime(parts.clock, parts.randomness, programs, settings, parts.recorder)
            parts.tasks.start("cni conf", real.follow_configuration(parts.clock, runtime))
        runtime.trace_to(parts.recorder, self._name)
        return runtime

    @property
    def amounts(self) -> Callable[[ProcessContext], Amounts]:
        """What a container uses by the first behaviour that matches it."""
        known = self._behaviours

        def amounts(context: ProcessContext) -> Amounts:
            found = next((each for each in known if each.matches(context)), Behaviour())
            return Amounts(found.memory, found.disk, found.processes)

        return amounts
