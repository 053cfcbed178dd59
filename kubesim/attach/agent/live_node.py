"""A simulated node that runs the pods of a live API server, for the attached agent.

    live API server -> ApiServerSource -> PodOverlay (the API server in memory) -> mux, sync loop, workers, SyncPod
                                             ^                                               |
                                             +----- statuses, Events, mirror pods, lease ----+

Only reads leave this program: the transport refuses anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal
from urllib.parse import quote

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.schema.codec import DecodeError, decode
from kubesim.api.timestamps import MILLISECOND
from kubesim.attach.agent.objects import PlaceholderObjects, followed
from kubesim.attach.agent.overlay import PodFollower, PodOverlay
from kubesim.attach.agent.would_write import OverlayClient, record_write
from kubesim.attach.reading.reference_polls import ReferencePolls
from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.remote.answers import decode_json
from kubesim.cluster.remote.transport import Call, ReadOnlyTransport, Transport, read_all
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.errors import TransportError, UsageError
from kubesim.kubelet.probes.known_answers import KnownAnswer
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.runtime.simulated.containers.replayed import RealContainers
from kubesim.sources.apiserver import ApiServerSource
from kubesim.sources.config import ConfigStream, Source
from kubesim.trace import Recorder
from kubesim.trace.records import Note

_STEP = 200 * MILLISECOND  # how often changed references are passed to the store


async def read_node(transport: Transport, name: str) -> Node:
    """The Node as the live API server has it. Raises UsageError."""
    try:
        async with ReadOnlyTransport(transport).open(Call("get", f"/api/v1/nodes/{quote(name, safe='')}")) as reply:
            body = await read_all(reply)
    except TransportError as error:
        raise UsageError(f"cannot reach the cluster: {error}") from None
    if reply.status == 404:
        raise UsageError(f"--node {name}: there is no such node in the cluster (kubectl get nodes lists them)")
    try:
        value = decode_json(body)
        if reply.status == 200:
            return Node.from_json(decode("Node", value))
        said = value.get("message")
    except (ValueError, AttributeError, DecodeError, RecursionError) as error:
        raise UsageError(f"--node {name}: the server's answer is no Node: {error}") from None
    rights = "; `kubesim attach --print-rbac` prints the RBAC rules that it needs" if reply.status == 403 else ""
    raise UsageError(f"--node {name}: {said or f'answer {reply.status}'}{rights}")


class AttachedNode:
    """Implements `LiveNode` for one node of a live cluster."""

    def __init__(self, transport: Transport, node_name: str, *, learn: bool = True, references: bool = False) -> None:
        self.node_name = node_name
        self.lessons = RealContainers() if learn else None
        self.followers: list[PodFollower] = []
        self.transport = ReadOnlyTransport(transport)
        self._found: dict[ObjectKey, bool] | None = {} if references else None

    def is_for(self, name: str) -> bool:
        return name == self.node_name

    @property
    def decides_alone(self) -> bool:
        return True

    @property
    def known_answers(self) -> KnownAnswer:
        return self._known_answer if self.lessons is not None else lambda subject, status: None

    def endpoint(self, name: str) -> None:
        """None: the API server knows the real kubelet."""

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
        stand_ins = PlaceholderObjects(store, self._found)
        followers: list[PodFollower] = [stand_ins, *self.followers]
        if self.lessons is not None:
            followers.append(_Pupil(self.lessons))
        if self._found is not None:
            tasks.start("references", self._polls(clock, stand_ins, recorder).run())
            tasks.start("stand-ins", _take_over(clock, stand_ins))
        overlay = PodOverlay(store, config.updates, own.start, followers)
        # A repeated run may draw different retry times.
        chance = Randomness(clock.now()).stream("attach")
        source = ApiServerSource(clock, tasks, recorder, overlay, self.transport, self.node_name, chance)
        return _Both(source, own)

    def _polls(self, clock: LoopClock, stand_ins: PlaceholderObjects, recorder: Recorder) -> ReferencePolls:
        def problem(text: str) -> None:
            recorder.record(Note(node=self.node_name, text=text))

        found = self._found if self._found is not None else {}
        return ReferencePolls(
            clock,
            self.transport,
            lambda: stand_ins.pods,
            found,
            lambda key: None,
            problem,
            followed,
            stand_ins.real_keys,
        )

    def client(
        self,
        name: str,
        clock: LoopClock,
        store: Store,
        latencies: ApiLatencies,
        connection: ApiConnection,
        recorder: Recorder,
    ) -> MemoryClient:
        return OverlayClient(clock, store, latencies, connection, recorder, self.node_name)

    def renewed_lease(self, name: str, recorder: Recorder, lease: Callable[[], ApiObject]) -> None:
        recorder.because(None)
        record_write(recorder, self.node_name, "update", "leases", "a kubelet renews its lease every 10 s")

    def _known_answer(self, subject: WorkerSubject, status: PodStatus) -> Literal["success", "failure", "wait"]:
        """Readiness and startup results of the real container. Its liveness shows only when it is killed, so until then
        it succeeds."""
        if subject.probe_type == "liveness":
            return "success"
        name = subject.container.name
        assert self.lessons is not None
        lesson = self.lessons.of(subject.pod.metadata.uid, name)
        statuses = (*status.init_container_statuses, *status.container_statuses)
        ours = next((known.restart_count for known in statuses if known.name == name), 0)
        return "wait" if lesson is None else lesson.answer(ours, ready=subject.probe_type == "readiness")


async def _take_over(clock: LoopClock, stand_ins: PlaceholderObjects) -> None:
    while True:
        await clock.sleep(_STEP)
        stand_ins.found_changed()


class _Pupil:
    """A `PodFollower` that records the behaviour of containers."""

    def __init__(self, lessons: RealContainers) -> None:
        self._lessons = lessons

    def pod_updated(self, pod: Pod) -> None:
        self._lessons.see(pod)

    def pod_removed(self, pod: Pod) -> None:
        self._lessons.forget(pod.metadata.uid)


class _Both:
    """The live source, then the source that reads the overlay, which starts after the first list."""

    def __init__(self, live: Source, own: Source) -> None:
        self._live = live
        self._own = own

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        self._live.stop()
        self._own.stop()
