"""`RuntimePlugin`: a container runtime for the nodes of a run, bundled (`cri`) or third-party.

A distribution names its plugin in an entry point of the group `kubesim.runtimes`:

    [project.entry-points."kubesim.runtimes"]
    mine = "my_package.runtime:MyPlugin"

`kubesim run --runtime mine` makes one object of the class for each run. Its `Runtime` passes the tests of
`kubesim.testing.runtime_contract`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from kubesim.clock import LoopClock, Randomness
from kubesim.concurrency import TaskSet
from kubesim.trace import Recorder
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.kubelet.containers.log_rotation import LogFiles
    from kubesim.kubelet.eviction.stats import StatsProvider
    from kubesim.runtime.allocation.cgroups import PodCgroups
    from kubesim.runtime.kuberuntime.logs import LogDirectory
    from kubesim.runtime.network.node_network import NodeNetwork
    from kubesim.runtime.protocol import Runtime
    from kubesim.runtime.simulated.log_files import ContainerOutput
    from kubesim.runtime.volume_directories import VolumeDirectories
    from kubesim.scenario.language.document import Spec
    from kubesim.scenario.play.node.node_context import NodeContext


@value_object
class NodeSetting:
    """The node that a runtime is for. `tasks` end with the run."""

    name: str
    number: int
    clock: LoopClock
    randomness: Randomness
    recorder: Recorder
    tasks: TaskSet
    output: ContainerOutput | None = None  # gets the lines that containers write

    @classmethod
    def of(cls, context: NodeContext, name: str, number: int, randomness: Randomness) -> NodeSetting:
        return cls(name, number, context.clock, randomness, context.recorder, context.tasks, context.output)


@value_object
class NodeSupplies:
    """The dependencies of a node's kubelet. Those that are None are simulated."""

    runtime: Runtime
    network: NodeNetwork | None = None  # for probes and hooks
    volumes: VolumeDirectories | None = None
    log_files: LogFiles | None = None
    logs: LogDirectory | None = None
    cgroups: PodCgroups | None = None
    stats: StatsProvider | None = None
    # Sends a signal to the main process of a container or, if the flag is set, of a sandbox. Raises RuntimeCallError.
    kill: Callable[[str, int, bool], Awaitable[None]] | None = None
    log_file: Callable[[str], Awaitable[str]] | None = None  # the path of the log of a container, in the format of CRI


class RuntimePlugin:
    """One object per run; the methods are called in this order."""

    real_time = False  # True: its containers do not follow virtual time, so the run has the speed of the wall clock

    def __init__(self, spec: Spec) -> None:
        """`spec` is of the scenario. Raises UsageError."""

    async def start(self, clock: LoopClock) -> None:
        """Called in the event loop of the run before its nodes exist. Raises UsageError."""

    def node(self, setting: NodeSetting) -> NodeSupplies:
        """Called once for each node."""
        raise NotImplementedError("a RuntimePlugin implements node")

    async def stop(self) -> None:
        """Called in the event loop after the nodes have ended, also if the run was interrupted."""

    def close(self) -> list[str]:
        """Called after the event loop has ended: what could not be removed from this machine, a line each."""
        return []
