"""The final state of the pods and workloads of a run, in a few words each."""

from __future__ import annotations

from collections.abc import Collection

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.clock import LoopClock
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.scenario.ending.rest import WORKLOADS, finished

LIMIT = 200  # characters of a message


class FinalStates:
    """Records the last state of pods, workloads and Events at the API server. `nodes` are the names of the existing
    nodes."""

    def __init__(self, clock: LoopClock, store: Store, nodes: Collection[str]) -> None:
        self._clock = clock
        self._nodes = nodes
        self.events = 0
        self._pods: dict[str, tuple[Pod, int | None]] = {}  # the last state, and the time of the removal
        self._workloads: dict[str, tuple[ApiObject, int | None]] = {}
        store.watch("Pod", self._pod)
        store.watch("Event", self._event)
        for kind in WORKLOADS:
            store.watch(kind, self._workload)

    def _pod(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        metadata = pod.metadata
        self._pods[f"{metadata.namespace}/{metadata.name}"] = (pod, self._gone(change))

    def _event(self, change: WatchEvent) -> None:
        if isinstance(change.object, Event) and change.type != "DELETED":
            self.events += 1

    def _workload(self, change: WatchEvent) -> None:
        obj = change.object
        if controller_of(obj) is None:
            name = f"{obj.kind}/{obj.metadata.namespace}/{obj.metadata.name}"
            self._workloads[name] = (obj, self._gone(change))

    def _gone(self, change: WatchEvent) -> int | None:
        return self._clock.elapsed() if change.type == "DELETED" else None

    def phases(self) -> dict[str, str]:
        """The last phase of each pod, by namespace and name."""
        return {name: pod.status.phase for name, (pod, _) in self._pods.items()}

    def pods(self) -> dict[str, str]:
        """The final state of each pod, such as `deleted at 42.1 s, last phase Running`, by namespace and name."""
        return {name: pod_outcome(pod, gone, self._nodes) for name, (pod, gone) in self._pods.items()}

    def workloads(self) -> dict[str, str]:
        """The final state of each workload without a controlling owner, such as `3/3 ready`, by kind, namespace and
        name."""
        return {
            name: (f"deleted at {_seconds(gone)}, last " if gone is not None else "") + workload_counts(obj)
            for name, (obj, gone) in self._workloads.items()
        }


def pod_outcome(pod: Pod, deleted: int | None, nodes: Collection[str]) -> str:
    """The final state of a pod. `deleted` is the time of its removal, in microseconds after the start."""
    phase, node = pod.status.phase, pod.spec.node_name
    lost = f"there is no node {node}" if node and node not in nodes else ""
    if deleted is not None:
        return f"deleted at {_seconds(deleted)}, last phase {phase}" + (f": {lost}" if lost else "")
    if phase == "Pending" and lost:
        return f"Pending: {lost}"
    why = ": ".join(part for part in (pod.status.reason, pod.status.message) if part)
    if phase == "Pending" and not why:
        why = next((c.message for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False"), "")
    ending = ", being deleted" if pod.metadata.deletion_timestamp is not None else ""
    return phase + ending + (f": {why[:LIMIT]}" if why else "")


def workload_counts(obj: ApiObject) -> str:
    """The columns that `kubectl get` prints for this kind."""
    content = obj.to_json()
    spec, status = content.get("spec") or {}, content.get("status") or {}
    ready, wanted = status.get("readyReplicas", 0), spec.get("replicas", 1)
    match obj.kind:
        case "CronJob":
            when = status.get("lastScheduleTime")
            last = f"last scheduled at {when}" if when else "not scheduled yet"
            return f"{len(status.get('active') or ())} active, {last}"
        case "Job":
            condition = finished(status)
            state = "Running" if condition is None else condition["type"]
            failed = f", {status['failed']} failed" if status.get("failed") else ""
            return f"{state}, {status.get('succeeded', 0)}/{spec.get('completions') or 1} completions{failed}"
        case "DaemonSet":
            return f"{status.get('numberReady', 0)}/{status.get('desiredNumberScheduled', 0)} ready"
        case "Deployment":
            updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
            return f"{ready}/{wanted} ready, {updated} up-to-date, {available} available"
        case _:
            return f"{ready}/{wanted} ready"


def _seconds(moment: int) -> str:
    return f"{moment / 1_000_000:.1f} s"
