"""Connects sources to the sync loop: merges their snapshots and changes in the mux and queues the result.

Mirrors: pkg/kubelet/config/config.go PodConfig.Channel, Updates
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock
from kubesim.concurrency import Channel
from kubesim.sources.modes import INCREMENTAL, NotificationMode, in_mode
from kubesim.sources.mux import DroppedPod, PodConfig, PodUpdate
from kubesim.trace import Recorder
from kubesim.trace.records import ConfigUpdate, SourceSnapshot


class Source(Protocol):
    """A source feeds a ConfigStream between `start` and `stop`. A restarted kubelet creates new sources."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class StaticSource(Source, Protocol):
    """A file or URL source."""

    def withdraw(self) -> None:
        """Stop, and report that no pod is wanted."""
        ...


CAPACITY = 100_000  # upstream's source blocks at 50; here a source never blocks, and the limit only stops a runaway
CLOSED: tuple[PodUpdate, int | None] = (PodUpdate("SET", "", ()), None)  # the item that ends the stream


class ConfigStream:
    """The mux and its channel. Items are (update, trace record of the cause).

    `heard` is called with every snapshot before it is merged and, with `hears_changes`, with every added or changed
    pod. `dropped` is called with every pod of a snapshot that has another pod's name.
    """

    def __init__(
        self,
        clock: LoopClock,
        recorder: Recorder,
        sources: Iterable[str],
        node: str = "",
        *,
        received: Callable[[str, Sequence[Pod]], None] = lambda source, pods: None,
        gets_changes: bool = False,
        dropped: Callable[[DroppedPod], None] = lambda pod: None,
        mode: NotificationMode = INCREMENTAL,
    ) -> None:
        self.mux = PodConfig(sources)
        self.updates: Channel[tuple[PodUpdate, int | None]] = Channel("config", CAPACITY)
        self._mode = mode
        self._clock = clock
        self._recorder = recorder
        self._node = node
        self._received = received
        self._gets_changes = gets_changes
        self._dropped = dropped

    def snapshot(self, source: str, pods: Iterable[Pod]) -> None:
        """Merge a source's full list of pods."""
        given = list(pods)
        self._received(source, given)
        updates = self.mux.merge(source, given, self._clock.now())
        for duplicate in self.mux.dropped:
            self._dropped(duplicate)
        self._send(updates, source, len(given))

    def upsert(self, source: str, pod: Pod) -> None:
        """Merge one added or changed pod of a source; equivalent to a snapshot with only that difference."""
        if self._gets_changes:
            self._received(source, (pod,))
        self._send(self.mux.upsert(source, pod, self._clock.now()), source, None)

    def remove(self, source: str, namespace: str, name: str) -> None:
        self._send(self.mux.remove(source, namespace, name, self._clock.now()), source, None)

    def restore(self, source: str, pods: Iterable[Pod]) -> None:
        """Merge checkpointed pods (v1.12) for a source that has not been received yet."""
        if self._mode == INCREMENTAL:
            for update in self.mux.restore(source, pods):
                self.updates.try_send((update, self._record(update, None)))

    def close(self) -> None:
        """Close the stream; the sync loop then ends."""
        self.updates.try_send(CLOSED)

    def _send(self, updates: list[PodUpdate], source: str, count: int | None) -> None:
        if self._mode != INCREMENTAL:
            updates = in_mode(self._mode, updates, self.mux.merged_state)
        if not self._recorder.on:
            for update in updates:
                self.updates.try_send((update, None))
        elif updates:
            why = "one pod changed" if count is None else f"the source lists {count} pods"
            cause = self._recorder.record(SourceSnapshot(node=self._node, source=source, pods=count or 1, why=why))
            for update in updates:
                self.updates.try_send((update, self._record(update, cause)))

    def _record(self, update: PodUpdate, cause: int | None) -> int | None:
        if not self._recorder.on:
            return None
        names = tuple(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in update.pods)
        why = _WHY[update.op] if update.pods else "the source has no pods, and has reported now"
        return self._recorder.record(
            ConfigUpdate(
                node=self._node,
                pod=names[0] if len(names) == 1 else "",
                source=update.source,
                op=update.op,
                pods=names,
                cause=cause,
                why=why,
            )
        )


_WHY = {
    "ADD": "the uid is new to this source",
    "UPDATE": "spec, labels, annotations or deletion of a known pod changed",
    "DELETE": "a known pod is marked for deletion",
    "REMOVE": "a known pod is gone from the source",
    "RECONCILE": "only the status of a known pod changed",
    "SET": "pods were added or removed, so the mux sends all pods of all sources",
    "RESTORE": "the previous kubelet saved this pod in a checkpoint",
}
