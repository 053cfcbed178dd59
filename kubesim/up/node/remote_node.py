"""Simulated nodes of a remote API server: `LiveNode`s that write.

API server -> ApiServerSource -> PodCopies -> the store -> mux, sync loop, workers, SyncPod
    ^                                                                |
    +---------------- RemoteClient: statuses, Events, lease ---------+
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubesim.api.meta import ApiObject
from kubesim.clock import LoopClock, Randomness
from kubesim.clock.real_clock import RealClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.remote.transport import Transport
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.errors import ApiError
from kubesim.kubelet.probes.known_answers import KnownAnswer
from kubesim.runtime.simulated.containers.replayed import RealContainers
from kubesim.sources.apiserver import ApiServerSource
from kubesim.sources.config import ConfigStream, Source
from kubesim.trace import Recorder
from kubesim.up.kubelet.endpoints import KubeletEndpoint
from kubesim.up.node.client import RemoteClient, new_body, request
from kubesim.up.node.mirror import PodCopies

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class RemoteNodes:
    """Implements `LiveNode` for all nodes of a simulation. `report` is called with a line about each failure."""

    lessons: RealContainers | None = None

    def __init__(
        self,
        transport: Transport,
        clock: RealClock,
        tasks: TaskSet,
        report: Callable[[str], None],
        endpoints: Mapping[str, KubeletEndpoint],
    ) -> None:
        self.sources: dict[str, ApiServerSource] = {}  # of running kubelets, by node
        self.endpoints = endpoints
        self.transport = transport
        self.clock = clock
        self._tasks = tasks
        self._report = report

    def is_for(self, name: str) -> bool:
        return True

    @property
    def decides_alone(self) -> bool:
        """False: the cluster has controllers that taint nodes and evict pods."""
        return False

    @property
    def known_answers(self) -> KnownAnswer | None:
        return None

    def endpoint(self, name: str) -> tuple[str, int] | None:
        found = self.endpoints.get(name)
        return None if found is None else (found.address, found.port)

    def source(
        self, name: str, clock: LoopClock, tasks: TaskSet, recorder: Recorder, store: Store, config: ConfigStream,
        own: Source,
    ) -> Source:  # fmt: skip
        copies = PodCopies(store, config.updates, own.start)
        chance = Randomness(clock.now()).stream("node", name)
        remote = ApiServerSource(self.clock, tasks, recorder, copies, self.transport, name, chance)
        return _Both(name, remote, own, self.sources)

    def client(
        self, name: str, clock: LoopClock, store: Store, latencies: ApiLatencies, connection: ApiConnection,
        recorder: Recorder,
    ) -> MemoryClient:  # fmt: skip
        return RemoteClient(clock, store, connection, self.transport)

    def renewed_lease(self, name: str, recorder: Recorder, lease: Callable[[], ApiObject]) -> None:
        self._tasks.start(f"lease of {name}", self._write_lease(name, lease()))

    async def _write_lease(self, name: str, lease: ApiObject) -> None:
        try:
            await write_lease(self.transport, name, lease)
        except ApiError as error:
            self._report(f"the lease of {name} is not renewed: {error}")


async def write_lease(transport: Transport, name: str, lease: ApiObject) -> None:
    """Update or create the lease. Mirrors: component-helpers/apimachinery/lease controller.go"""
    try:
        known = await request(transport, "get", f"{LEASES}/{name}")
        spec = {**(known.get("spec") or {}), **lease.to_json()["spec"]}
        await request(transport, "update", f"{LEASES}/{name}", known | {"spec": spec})
    except ApiError as error:
        if error.code != 404:
            raise
        await request(transport, "create", LEASES, new_body(lease))


class _Both:
    """The remote source, then the source that reads the store, which starts after the first list."""

    def __init__(self, name: str, remote: ApiServerSource, own: Source, running: dict[str, ApiServerSource]) -> None:
        self._name = name
        self._remote = remote
        self._own = own
        self._running = running

    def start(self) -> None:
        self._running[self._name] = self._remote
        self._remote.start()

    def stop(self) -> None:
        self._running.pop(self._name, None)
        self._remote.stop()
        self._own.stop()
