"""The kubelet's event recorder: writes to the trace immediately, and to the API server through a queue and the
correlator.

`event` and `node_event` emit an Event without blocking; `run` writes the queue to the API server, one Event at a time.

Mirrors: client-go tools/record/event.go (recorderImpl, recordToSink, recordEvent), pkg/kubelet/container/ref.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.event import Event, EventSource
from kubesim.api.meta import ObjectMeta, ObjectReference
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND, format_time
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.api_client import ApiClient
from kubesim.cluster.events.event_correlator import EventCorrelator, EventNames
from kubesim.concurrency import Channel
from kubesim.concurrency.token_bucket import TokenBucket
from kubesim.errors import ApiError
from kubesim.runtime.kuberuntime.naming import container_field_path
from kubesim.trace.recorder import Recorder
from kubesim.trace.records import EventRecorded

COMPONENT = "kubelet"
MAX_QUEUED_EVENTS = 1000
MAX_TRIES = 12
RETRY_SLEEP = 10 * SECOND
EVENT_RECORD_QPS = 50
EVENT_BURST = 100


class KubeletEvents:
    """The event recorder of one kubelet. Without an API server there is no client: Events are only in the trace."""

    def __init__(
        self,
        client: ApiClient | None,
        node: str,
        clock: LoopClock,
        recorder: Recorder,
        stream: Stream,
        *,
        qps: float = EVENT_RECORD_QPS,
        burst: int = EVENT_BURST,
    ) -> None:
        self._client = client
        self._node = node
        self._clock = clock
        self._recorder = recorder
        self._stream = stream
        self._source = EventSource(component=COMPONENT, host=node)
        self._names = EventNames(stream)
        self._correlator = EventCorrelator(self._names)
        self._limit = TokenBucket(qps, burst) if qps else None
        self._queue: Channel[Event] = Channel("events", MAX_QUEUED_EVENTS)

    def event(
        self,
        pod: Pod,
        type: str,
        reason: str,
        message: str,
        container: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Emit an Event about a pod, or about one of its containers."""
        meta = pod.metadata
        field_path = container_field_path(pod, container) if container else ""
        if self._recorder.on:
            self._recorder.record(
                EventRecorded(
                    node=self._node,
                    pod=f"{meta.namespace}/{meta.name}",
                    uid=meta.uid,
                    container=container,
                    type=type,
                    reason=reason,
                    message=message,
                    field_path=field_path,
                )
            )
        if self._client is not None:
            about = ObjectReference(
                kind="Pod",
                namespace=meta.namespace,
                name=meta.name,
                uid=meta.uid,
                api_version="v1",
                resource_version=meta.resource_version,
                field_path=field_path,
            )
            self._enqueue(about, type, reason, message, annotations)

    def node_event(self, type: str, reason: str, message: str) -> None:
        """Emit an Event about the node."""
        if self._recorder.on:
            self._recorder.record(EventRecorded(node=self._node, type=type, reason=reason, message=message))
        if self._client is not None:
            self._enqueue(ObjectReference(kind="Node", name=self._node, api_version="v1"), type, reason, message)

    def _enqueue(
        self,
        about: ObjectReference,
        event_type: str,
        reason: str,
        message: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Queue an Event; a full queue drops it, because emitting must never block."""
        now = self._clock.wall()
        moment = format_time(now)
        self._queue.try_send(
            Event(
                api_version="v1",
                kind="Event",
                metadata=ObjectMeta(
                    name=self._names.make(about.name, now),
                    namespace=about.namespace or "default",
                    annotations=dict(annotations or {}),
                ),
                involved_object=about,
                type=event_type,
                reason=reason,
                message=message,
                source=self._source,
                first_timestamp=moment,
                last_timestamp=moment,
                count=1,
                reporting_component=COMPONENT,
                reporting_instance=self._node,
            )
        )

    async def run(self) -> None:
        """Write queued Events forever. Requires a client."""
        while True:
            event = await self._queue.receive()
            correlated = self._correlator.correlate(event, self._clock.now())
            if correlated is not None:
                await self._record_to_sink(correlated)

    async def _record_to_sink(self, event: Event) -> None:
        """Write one Event. While the server is unreachable, all others wait behind it, for about two minutes."""
        for attempt in range(1, MAX_TRIES + 1):
            try:
                self._correlator.update_state(await self._create_or_patch(event))
                return
            except ApiError as error:
                if error.code != 0:  # the server rejected it
                    return
            if attempt < MAX_TRIES:
                await self._clock.sleep(round(RETRY_SLEEP * self._stream.random()) if attempt == 1 else RETRY_SLEEP)

    async def _create_or_patch(self, event: Event) -> Event:
        assert self._client is not None
        if event.count > 1:
            try:
                await self._its_turn()
                return await self._client.patch_event(event)
            except ApiError as error:
                if error.code != 404:
                    raise  # 404: the Event expired in the meantime
        await self._its_turn()
        if event.metadata.resource_version:  # its count continues an expired Event
            event = event.changed(metadata=event.metadata.changed(resource_version=""))
        return await self._client.create_event(event)

    async def _its_turn(self) -> None:
        if self._limit is not None and (wait := self._limit.reserve(self._clock.now())):
            await self._clock.sleep(wait)
