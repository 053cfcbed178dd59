"""Deletes dead containers in the background: all but the newest of each name, or all of a deleted pod.

Mirrors: pkg/kubelet/pod_container_deletor.go
"""

from __future__ import annotations

from kubesim.concurrency import Channel, TaskSet
from kubesim.errors import RuntimeCallError
from kubesim.runtime.kuberuntime.act.manager import RuntimeManager
from kubesim.runtime.kuberuntime.decide.gc import containers_to_delete_in_pod
from kubesim.runtime.types import RuntimePodStatus
from kubesim.trace import Recorder

QUEUE_LIMIT = 50  # containers beyond it are left to the garbage collector


class ContainerDeletor:
    """Queue of containers to delete; a task runs while the queue is not empty."""

    def __init__(self, tasks: TaskSet, runtime: RuntimeManager, containers_to_keep: int) -> None:
        self._tasks = tasks
        self._runtime = runtime
        self._keep = containers_to_keep
        self._busy = False
        self._queue: Channel[str] = Channel("dead containers", QUEUE_LIMIT)
        self._cause = Recorder.cause()  # traces every deletion to the agent's start, not to the first caller

    def delete_containers_in_pod(self, exited_id: str, status: RuntimePodStatus, *, remove_all: bool) -> None:
        if remove_all:
            wanted = containers_to_delete_in_pod(status, 0)
        else:
            wanted = containers_to_delete_in_pod(status, self._keep, exited_id)
        for record in wanted:
            if self._busy:
                self._queue.try_send(record.id)
            else:
                self._busy = True
                self._tasks.go("container deletor", self._delete(record.id))

    async def _delete(self, identifier: str | None) -> None:
        Recorder.because(self._cause)
        while identifier is not None:
            try:
                await self._runtime.remove_container(identifier)
            except RuntimeCallError:
                pass  # the garbage collector retries once a minute
            identifier = self._queue.try_receive()
        self._busy = False
