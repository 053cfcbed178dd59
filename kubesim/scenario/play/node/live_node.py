"""`LiveNode`: what a simulated node needs when its pods come from a live API server, to which nothing is written.

The node's own API server in memory is then an overlay: the live pods with the statuses of this kubelet. The kubelet
reads and writes there, as it does in any run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kubesim.clock import LoopClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.kubelet.probes.known_answers import KnownAnswer
from kubesim.sources.config import ConfigStream, Source
from kubesim.trace import Recorder

if TYPE_CHECKING:
    from kubesim.runtime.simulated.containers.learnt import RealContainers


class LiveNode(Protocol):
    """Made before the node; `source` is called once for each life of its kubelet."""

    @property
    def node_name(self) -> str:
        """The node of the live cluster, and of the scenario, that it is for."""
        ...

    @property
    def lessons(self) -> RealContainers | None:
        """What the real containers do; None: ours run their command lines."""
        ...

    @property
    def known_answers(self) -> KnownAnswer:
        """How probes of the real containers are answered."""
        ...

    def source(
        self, clock: LoopClock, tasks: TaskSet, recorder: Recorder, store: Store, config: ConfigStream, own: Source
    ) -> Source:
        """Brings the live pods into the store. `own` passes on what is in the store; it begins after the first list."""
        ...

    def client(
        self, clock: LoopClock, store: Store, latencies: ApiLatencies, connection: ApiConnection, recorder: Recorder
    ) -> MemoryClient:
        """The client of the overlay, which also records writes that the kubelet itself does not record."""
        ...

    def renewed_lease(self, recorder: Recorder) -> None:
        """The kubelet would renew its lease."""
        ...
