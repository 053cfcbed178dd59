"""The state diagram of the pod workers, derived by applying every input to every state. It therefore always matches
`state.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.pod import Pod
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.podworkers.updates import KillPodOptions, UpdatePodOptions
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from kubesim.trace.pictures.mermaid import words
from kubesim.values import value_object

UNKNOWN = "[*]"  # Mermaid's name of the start and end state
_UID = "uid"


@value_object
class Transition:
    state: str
    input: str
    next: str


def _pod(phase: str = "", *, deleted: bool = False) -> Pod:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30} if deleted else {}
    metadata = {"name": "pod", "namespace": "default", "uid": _UID, **gone}
    return Pod.from_json({"metadata": metadata, "spec": {}, "status": {"phase": phase}})


def _reported(options: UpdatePodOptions) -> Callable[[PodSyncStatuses], None]:
    def tell(pods: PodSyncStatuses) -> None:
        pods.update_pod(options, 1, lambda uid: RuntimePodStatus(uid))
        _start_sync(pods)

    return tell


def _start_sync(pods: PodSyncStatuses) -> None:
    status = pods.statuses.get(_UID)
    if status is not None and status.pending_update is not None:
        pods.start_pod_sync(_UID, 1)


def _housekeeping(pods: PodSyncStatuses) -> None:
    pods.sync_known_pods((), 1)
    _start_sync(pods)


def _ended(state: str, complete: Callable[[PodSyncStatuses], object]) -> Callable[[PodSyncStatuses], None]:
    """The end of a sync; valid only in this state."""

    def end(pods: PodSyncStatuses) -> None:
        if state_of(pods) == state:
            complete(pods)
            _start_sync(pods)

    return end


_RUNNING = RuntimePod(_UID, "pod", "default")
INPUTS: dict[str, Callable[[PodSyncStatuses], None]] = {
    "UpdatePod(create)": _reported(UpdatePodOptions("create", _pod())),
    "UpdatePod(sync)": _reported(UpdatePodOptions("sync", _pod())),
    "UpdatePod: deleted at the API server": _reported(UpdatePodOptions("update", _pod(deleted=True))),
    "UpdatePod: phase Succeeded or Failed": _reported(UpdatePodOptions("update", _pod("Failed"))),
    "UpdatePod(kill)": _reported(UpdatePodOptions("kill", _pod())),
    "UpdatePod(kill), evicted": _reported(UpdatePodOptions("kill", _pod(), kill=KillPodOptions(evict=True))),
    "UpdatePod(kill) of an orphan in the runtime": _reported(UpdatePodOptions("kill", running_pod=_RUNNING)),
    "SyncPod: the pod has ended": _ended("syncing", lambda pods: pods.complete_sync(_UID, 1)),
    "SyncTerminatingPod succeeded": _ended("terminating", lambda pods: pods.complete_terminating(_UID, 1)),
    "SyncTerminatedPod succeeded": _ended("terminated", lambda pods: pods.complete_terminated(_UID)),
    "housekeeping: no source lists it": _housekeeping,
}


def state_of(pods: PodSyncStatuses) -> str:
    status = pods.statuses.get(_UID)
    if status is None:
        return UNKNOWN
    if status.finished:
        return "finished"
    kind = status.work_type()
    return "syncing" if kind == "sync" else kind


def transitions() -> list[Transition]:
    """All transitions from the reachable states."""
    ways: dict[str, tuple[str, ...]] = {UNKNOWN: ()}  # state -> the shortest inputs that lead to it
    found: list[Transition] = []
    todo = [UNKNOWN]
    while todo:
        state = todo.pop(0)
        for name in INPUTS:
            pods = _after(ways[state])
            INPUTS[name](pods)
            reached = state_of(pods)
            if reached != state:
                found.append(Transition(state, name, reached))
            if reached not in ways:
                ways[reached] = (*ways[state], name)
                todo.append(reached)
    return found


def _after(inputs: tuple[str, ...]) -> PodSyncStatuses:
    pods = PodSyncStatuses()
    for name in inputs:
        INPUTS[name](pods)
    return pods


def mermaid() -> list[str]:
    """A Mermaid state diagram; inputs with the same transition share an arrow."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for each in transitions():
        arrows.setdefault((each.state, each.next), []).append(each.input)
    lines = [
        f"    {state} --> {reached}: {'<br/>'.join(map(words, names))}" for (state, reached), names in arrows.items()
    ]
    return ["stateDiagram-v2", *lines]
