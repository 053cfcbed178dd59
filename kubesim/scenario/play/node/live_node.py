"""`LiveNode`: what a simulated node needs when its pods come from a live API server.

Where nothing is written to that (`attach`), the node's own API server in memory is an overlay: the live pods with the
statuses of this kubelet. Where the node is one of the live cluster (`up/node`), it is a copy of what that has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kubesim.api.meta import ApiObject
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

    def is_for(self, name: str) -> bool:
        """Is this node of the scenario one of the live cluster?"""
        ...

    @property
    def decides_alone(self) -> bool:
        """Are taints and evictions decided here, because no other controller knows this node?"""
        ...

    @property
    def lessons(self) -> RealContainers | None:
        """What the real containers do; None: ours run their command lines."""
        ...

    @property
    def known_answers(self) -> KnownAnswer | None:
        """How probes of the real containers are answered; None: by ours."""
        ...

    def source(
        self,
        name: str,
        clock: LoopClock,
        tasks: TaskSet,
        recorder: Recorder,
        store: Store,
        config: ConfigStream,
        own: Source,
    ) -> Source:
        """Brings the live pods into the store. `own` passes on what is in the store; it begins after the first list."""
        ...

    def client(
        self,
        name: str,
        clock: LoopClock,
        store: Store,
        latencies: ApiLatencies,
        connection: ApiConnection,
        recorder: Recorder,
    ) -> MemoryClient:
        """The client of the node's kubelet."""
        ...

    def renewed_lease(self, name: str, recorder: Recorder, lease: Callable[[], ApiObject]) -> None:
        """The kubelet would renew its lease."""
        ...
