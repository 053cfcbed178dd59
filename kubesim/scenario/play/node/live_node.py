"""`LiveNode`: connects a simulated node to a live API server that has its pods.

If kubesim only reads the live cluster (`attach`), the node's API server in memory is an overlay: the live pods with the
statuses of this kubelet. If the node belongs to the live cluster (`up/node`), it is a copy.
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
    from kubesim.runtime.simulated.containers.replayed import RealContainers


class LiveNode(Protocol):
    """The live side of a simulated node, made before the node. `source` is called once for each life of the kubelet."""

    def is_for(self, name: str) -> bool:
        """Whether this node of the scenario is one of the live cluster."""
        ...

    @property
    def decides_alone(self) -> bool:
        """Whether taints and evictions are decided here, because no other controller knows this node."""
        ...

    @property
    def lessons(self) -> RealContainers | None:
        """The observed behaviour of the real containers; None: simulated containers run their command lines."""
        ...

    @property
    def known_answers(self) -> KnownAnswer | None:
        """The probe results of the real containers; None: simulated containers answer."""
        ...

    def endpoint(self, name: str) -> tuple[str, int] | None:
        """The address and port at which the API server reaches the kubelet; None: it does not."""
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
        """The source that copies the live pods into the store. `own` passes on the pods of the store, and starts after
        the first list."""
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
        """The API client of the node's kubelet."""
        ...

    def renewed_lease(self, name: str, recorder: Recorder, lease: Callable[[], ApiObject]) -> None:
        """Handle a renewal of the node's lease by the kubelet."""
        ...
