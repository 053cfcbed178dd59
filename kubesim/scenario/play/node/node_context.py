"""Objects that all nodes of a simulation share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.controllers.nodes.node_monitor import NodeMonitor
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.features import FeatureGates
from kubesim.kubelet.probes.prober import ProbeListener
from kubesim.runtime.simulated.disturbances.dependencies import Dependency
from kubesim.runtime.simulated.log_files import ContainerOutput
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.runtime.simulated.settings import Latencies
from kubesim.runtime.simulated.volumes import SharedStorage
from kubesim.scenario.language.document import Spec
from kubesim.scenario.play.node.live_node import LiveNode
from kubesim.scenario.runtimes.plugin import RuntimePlugin
from kubesim.sources.manifests.simulated_url import SimulatedUrl
from kubesim.trace import Recorder
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.runtime.containerd.cni_nodes import CniNodes
    from kubesim.scenario.faults.interceptor import Interceptor


@value_object
class NodeContext:
    """Objects that all nodes of a simulation share."""

    clock: LoopClock
    randomness: Randomness
    recorder: Recorder
    tasks: TaskSet
    store: Store
    network: SimulatedNetwork
    storage: SharedStorage
    latencies: Latencies
    url: SimulatedUrl | None  # of the http source, if it is simulated
    spec: Spec
    gates: FeatureGates
    traced: bool
    health: NodeMonitor
    output: ContainerOutput | None = None  # prints log lines of containers
    real: CniNodes | None = None  # the real nodes under the simulated ones, for real pod networks
    plugin: RuntimePlugin | None = None  # the runtime, if it is not a part of the simulated nodes
    live: LiveNode | None = None  # set if pods come from a live API server
    interceptor: Interceptor | None = None  # set if operations have faults, or steps wait for them
    dependencies: Mapping[str, Dependency] = field(default_factory=dict)  # of behaviours, by name
    received: Callable[[Sequence[Pod]], None] = lambda pods: None  # receives static pods, and the pods of a live node
    probed: ProbeListener | None = None
