"""Deletes dead containers in the background: all but the newest of a name, or all when the pod's content may go.

Mirrors: pkg/kubelet/pod_container_deletor.go
"""

from __future__ import annotations

from kubesim.clock import LoopClock
from kubesim.concurrency import Channel
from kubesim.errors import RuntimeCallError
from kubesim.runtime.gc import containers_to_delete_in_pod
from kubesim.runtime.manager import RuntimeManager
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus

QUEUE_LIMIT = 50  # more are left to the garbage collector


class ContainerDeletor:
    def __init__(self, clock: LoopClock, runtime: RuntimeManager, containers_to_keep: int) -> None:
        self._clock = clock
        self._runtime = runtime
        self._keep = containers_to_keep
        self._queue: Channel[str] = Channel("dead containers", QUEUE_LIMIT)

    def delete_containers_in_pod(self, exited_id: str, status: RuntimePodStatus, *, remove_all: bool) -> None:
        wanted = containers_to_delete_in_pod(status, 0) if remove_all else self._superseded(status, exited_id)
        for record in wanted:
            self._queue.try_send(record.id)

    def _superseded(self, status: RuntimePodStatus, exited_id: str) -> tuple[ContainerRecord, ...]:
        return containers_to_delete_in_pod(status, self._keep, exited_id)

    async def run(self) -> None:
        while True:
            identifier = await self._queue.receive()
            try:
                await self._runtime.remove_container(identifier)
            except RuntimeCallError:
                continue  # the garbage collector comes by once a minute
