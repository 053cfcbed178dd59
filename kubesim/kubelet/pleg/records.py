"""Pod records of the PLEG: the old and the current listing of each pod, and the events for the differences.

Pure: `generic.py` lists the runtime, passes the listing in and sends the events.

Mirrors: pkg/kubelet/pleg/generic.go podRecords, generateEvents, computeEvents, getPodIPs; pkg/kubelet/pleg/pleg.go
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Literal

from kubesim.runtime.types import ListedContainer, RuntimePod, RuntimePodStatus
from kubesim.values import value_object

EventType = Literal["ContainerStarted", "ContainerDied", "ContainerRemoved", "ContainerChanged", "PodSync"]

State = Literal["running", "exited", "unknown", "non-existent"]

_CREATED_AT = attrgetter("created_at")
_WAS = {"running": "was running", "exited": "was dead", "unknown": "was neither running nor dead",
        "non-existent": "did not exist"}  # fmt: skip
_NOW = {
    "running": "is running",
    "exited": "is dead",
    "unknown": "is neither running nor dead",
    "non-existent": "is gone",
}


@value_object
class PodLifecycleEvent:
    """A change of a pod. `data` is the listed id of the container or sandbox; `cause` is the trace record."""

    uid: str
    type: EventType
    data: str = ""
    cause: int | None = None
    container: str = ""
    was: State = "non-existent"
    now: State = "non-existent"

    @property
    def why(self) -> str:
        if self.was == self.now:
            return "the pod was inspected again on request"
        what = f"container {self.container}" if self.container else "the sandbox"
        return f"{what} {_WAS[self.was]} at the last relist and {_NOW[self.now]} now"


class PodRecords:
    """Each pod at its last sent events (old), and in the latest listing (current)."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}  # every recorded pod, numbered by first appearance
        self._seen = 0
        self._old: dict[str, RuntimePod] = {}
        self._current: dict[str, RuntimePod] = {}

    def set_current(self, pods: Mapping[str, RuntimePod]) -> None:
        """Replace all current records. Pods not in the listing are gone; new pods are ordered newest first."""
        self._current = dict(pods)
        new = [self._current[uid] for uid in self._current if uid not in self._known]
        for pod in sorted(new, key=_CREATED_AT, reverse=True):
            self._see(pod.uid)

    def _see(self, uid: str) -> None:
        if uid not in self._known:
            self._seen += 1
            self._known[uid] = self._seen

    def set_current_pod(self, pod: RuntimePod) -> None:
        """Replace the current record of one pod; other pods keep theirs."""
        self._current[pod.uid] = pod
        self._see(pod.uid)

    def to_reconcile(self, reinspect: AbstractSet[str]) -> list[str]:
        """Pods with a changed listing or a requested inspection, in order of first appearance."""
        old = self._old.get
        found = {uid for uid, now in self._current.items() if (before := old(uid)) is not now and before != now}
        found |= self._known.keys() - self._current.keys()
        found |= self._known.keys() & reinspect
        return sorted(found, key=self._known.__getitem__)

    def old(self, uid: str) -> RuntimePod | None:
        return self._old.get(uid)

    def current(self, uid: str) -> RuntimePod | None:
        return self._current.get(uid)

    def update(self, uid: str) -> None:
        """The pod's events are sent: the current record becomes the old one."""
        current = self._current.get(uid)
        if current is not None:
            self._old[uid] = current
        else:
            self._old.pop(uid, None)
            self._known.pop(uid, None)


def compute_events(old: RuntimePod | None, current: RuntimePod | None) -> list[PodLifecycleEvent]:
    """The events between two listings of a pod, by container: those of the old listing first, then new ones."""
    before, after = _by_id(old), _by_id(current)
    events: list[PodLifecycleEvent] = []
    uid = old.uid if old is not None else current.uid if current is not None else ""
    for identifier, container in {**before, **after}.items():
        was, now = before.get(identifier), after.get(identifier)
        if was is None or now is None or was.state != now.state:
            before_it, after_it = _state(was), _state(now)
            for kind in _event_types(before_it, after_it):
                events.append(PodLifecycleEvent(uid, kind, identifier, None, container.name, before_it, after_it))
    return events


def keep_pod_ips(status: RuntimePodStatus, cached: RuntimePodStatus | None) -> tuple[str, ...]:
    """The addresses to cache: a pod without a ready sandbox keeps its previous addresses (None: no usable entry)."""
    if status.ips or cached is None or any(sandbox.ready for sandbox in status.sandboxes):
        return status.ips
    return cached.ips


def _by_id(pod: RuntimePod | None) -> dict[str, ListedContainer]:
    if pod is None:
        return {}
    found: dict[str, ListedContainer] = {}
    for container in (*pod.containers, *pod.sandboxes):
        found.setdefault(container.id, container)
    return found


def _state(container: ListedContainer | None) -> State:
    if container is None:
        return "non-existent"
    # The kubelet treats a created container as unknown.
    return "unknown" if container.state == "created" else container.state


def _event_types(was: State, now: State) -> tuple[EventType, ...]:
    if was == now:
        return ()
    if now == "running":
        return ("ContainerStarted",)
    if now == "exited":
        return ("ContainerDied",)
    if now == "unknown":
        return ("ContainerChanged",)
    # The death of an exited container was reported before.
    return ("ContainerRemoved",) if was == "exited" else ("ContainerDied", "ContainerRemoved")
