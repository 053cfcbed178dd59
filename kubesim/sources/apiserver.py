"""The API server source: lists and watches the pods of one node over a connection.

Every pod that is added or changed is sent to the mux immediately; after a new list, the whole set. Needs a real-time
clock, because the API server runs in real time.

Mirrors: pkg/kubelet/config/apiserver.go NewSourceApiserver
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sized
from typing import Protocol

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.remote.transport import Transport
from kubesim.concurrency import TaskSet
from kubesim.sources.reflector.list_watch import ListWatch, Watched
from kubesim.trace import Recorder
from kubesim.trace.records import Note

SOURCE = "api"
PODS = "/api/v1/pods"
MAX_PENDING = 10_000  # pending updates; at this limit the source stops reading
_PAUSE = 10 * MILLISECOND


def pods_of_node(node_name: str) -> Watched[Pod]:
    """The watch of one node's pods."""
    return Watched(PODS, Pod, "Pod", selectors={"fieldSelector": f"spec.nodeName={node_name}"})


class PodReceiver(Protocol):
    """Receiver of pods: a ConfigStream, or an overlay in front of one."""

    @property
    def updates(self) -> Sized:
        """The number of pending items."""
        ...

    def snapshot(self, source: str, pods: Iterable[Pod]) -> None: ...
    def upsert(self, source: str, pod: Pod) -> None: ...
    def remove(self, source: str, namespace: str, name: str) -> None: ...


class ApiServerSource:
    """The API server source. `stop` ends the watch and closes the transport."""

    def __init__(
        self,
        clock: LoopClock,
        tasks: TaskSet,
        recorder: Recorder,
        config: PodReceiver,
        transport: Transport,
        node_name: str,
        chance: Stream,
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._recorder = recorder
        self._config = config
        self._transport = transport
        self._node_name = node_name
        self._following = ListWatch(clock, transport, chance, pods_of_node(node_name), self, self._report_problem)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self._tasks.start("API server source", self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        try:
            await self._following.run()
        finally:
            await self._transport.close()

    def _report_problem(self, text: str) -> None:
        self._recorder.because(None)
        self._recorder.record(Note(node=self._node_name, text=f"API server source: {text}"))

    @property
    def version(self) -> str:
        """The last version of the server that this source knows."""
        return self._following.reflector.version

    def pods(self) -> Iterable[Pod]:
        return self._following.reflector.objects.values()

    # -- callbacks of the reflector ------------------------------------------------------------------------------

    def replaced(self, objects: Iterable[Pod]) -> None:
        self._recorder.because(None)
        self._config.snapshot(SOURCE, objects)

    def changed(self, obj: Pod) -> None:
        self._recorder.because(None)
        self._config.upsert(SOURCE, obj)

    def removed(self, obj: Pod) -> None:
        self._recorder.because(None)
        self._config.remove(SOURCE, obj.metadata.namespace, obj.metadata.name)

    async def room(self) -> None:
        """Back-pressure: wait until the sync loop has handled pending updates; the connection buffers the rest."""
        while len(self._config.updates) > MAX_PENDING:
            await self._clock.sleep(_PAUSE)
