"""The compared parts of a workload story: pods, scaling, final statuses, Events, endpoints and claims.

Random parts (uids, addresses, template hashes, suffixes of names) have placeholders.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.values import mutable, value_object

Json = Mapping[str, Any]

_LETTER = "[bcdfghjklmnpqrstvwxz2456789]"
_RANDOM_PARTS = tuple(
    (re.compile(pattern), placeholder)
    for pattern, placeholder in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"\b\d{1,3}(\.\d{1,3}){3}\b", "<ip>"),
        (rf"-{_LETTER}{{8,10}}-{_LETTER}{{5}}\b", "-<rs>-<pod>"),
        (r"-\d{8}\b", "-<minute>"),
        (rf"-{_LETTER}{{8,10}}\b", "-<rs>"),
        (rf"-{_LETTER}{{5}}\b", "-<pod>"),
    )
)
_COUNTS: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "unavailableReplicas"),
    "ReplicaSet": ("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"),
    "StatefulSet": ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas"),
    "DaemonSet": ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
                  "numberMisscheduled", "numberAvailable"),
    "Job": ("active", "ready", "succeeded", "failed", "terminating", "completedIndexes", "failedIndexes"),
    "CronJob": (),
    "PersistentVolumeClaim": ("phase",),
    "PodDisruptionBudget": ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
}  # fmt: skip
_CONTROLLERS = re.compile(r"scheduler|controller|binder|attachdetach|cronjob|job")

EventKey = tuple[str, str, str, str]  # component, kind, reason, message
Endpoint = tuple[bool, bool, bool]  # ready, serving, terminating


def plain(text: str | None) -> str:
    """The text with placeholders for random parts."""
    shown = text or ""
    for pattern, placeholder in _RANDOM_PARTS:
        shown = pattern.sub(placeholder, shown)
    return shown


@mutable
class WorkloadPod:
    """A pod. `owner` is the kind and pattern of its owner, then the pattern of its own name."""

    owner: str
    created: float
    deleted: float | None = None
    phase: str | None = None


@value_object
class WorkloadView:
    pods: tuple[WorkloadPod, ...]  # by owner, then in order of creation
    scaling: list[tuple[str, list[int | None]]]
    final: dict[tuple[str, str], list[Any]]
    events: dict[EventKey, float]
    endpoints: dict[str, list[list[Endpoint | None]]]  # by pattern of the pod's name
    claims: dict[str, list[str | None]]


def view(story: Json) -> WorkloadView:
    changes = story["changes"]
    return WorkloadView(
        _pods(changes), _scaling(changes), _final(changes), _events(changes), _endpoints(changes), _claims(changes)
    )


def _of(changes: list[Json], *kinds: str) -> Iterator[Json]:
    return (change for change in changes if change["kind"] in kinds)


def _status(change: Json) -> Json:
    return change["object"].get("status") or {}


def _pods(changes: list[Json]) -> tuple[WorkloadPod, ...]:
    pods: dict[str, WorkloadPod] = {}
    for change in _of(changes, "Pod"):
        name = change["name"]
        if name not in pods:
            pods[name] = WorkloadPod(f"{_owner(change)} {plain(name)}", change["t"])
        pods[name].phase = _status(change).get("phase") or pods[name].phase
        if change["type"] == "DELETED":
            pods[name].deleted = change["t"]
    return tuple(sorted(pods.values(), key=lambda pod: (pod.owner, pod.created)))


def _owner(change: Json) -> str:
    owners = (change["object"].get("metadata") or {}).get("ownerReferences") or [{}]
    return f"{owners[0].get('kind', '')}/{plain(owners[0].get('name', ''))}"


def _scaling(changes: list[Json]) -> list[tuple[str, list[int | None]]]:
    """The sequence of `spec.replicas` of each ReplicaSet."""
    sequences: defaultdict[str, list[int | None]] = defaultdict(list)
    for change in _of(changes, "ReplicaSet"):
        if change["type"] != "DELETED":
            _append_new(sequences[change["name"]], (change["object"].get("spec") or {}).get("replicas"))
    return sorted((plain(name), sequence) for name, sequence in sequences.items())


def _append_new(sequence: list[Any], value: Any) -> None:
    if not sequence or sequence[-1] != value:
        sequence.append(value)


def _final(changes: list[Json]) -> dict[tuple[str, str], list[Any]]:
    """Final counts and conditions of every workload; those with the same pattern are in order of creation."""
    last: dict[tuple[str, str, str], Any] = {}
    for change in _of(changes, *_COUNTS):
        status, kind = _status(change), change["kind"]
        created = (change["object"].get("metadata") or {}).get("creationTimestamp")
        conditions = sorted((c["type"], c["status"], c.get("reason")) for c in status.get("conditions") or ())
        counts = {name: status[name] for name in _COUNTS[kind] if status.get(name)}
        key = kind, plain(change["name"]), str(created)
        last[key] = "deleted" if change["type"] == "DELETED" else (counts, conditions)
    final: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for kind, name, created in sorted(last):
        final[kind, name].append(last[kind, name, created])
    return dict(final)


def _events(changes: list[Json]) -> dict[EventKey, float]:
    """Events of controllers and the scheduler, with the time of the first one."""
    events: dict[EventKey, float] = {}
    for change in _of(changes, "Event"):
        event = change["object"]
        component = (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""
        if _CONTROLLERS.search(component) and "kubelet" not in component:
            about = event.get("involvedObject") or event.get("regarding") or {}
            message = plain(event.get("message") or event.get("note"))
            events.setdefault((component, about.get("kind", ""), event.get("reason", ""), message), change["t"])
    return events


def _endpoints(changes: list[Json]) -> dict[str, list[list[Endpoint | None]]]:
    """The sequence of conditions of each pod's endpoint; None: in no slice."""
    sequences: dict[str, list[Endpoint | None]] = {}
    for change in _of(changes, "EndpointSlice"):
        if change["type"] == "DELETED":
            continue
        now = {_pod_of(point): _conditions(point) for point in change["object"].get("endpoints") or ()}
        for pod in {*now, *sequences}:
            _append_new(sequences.setdefault(pod, []), now.get(pod))
    by_pattern: defaultdict[str, list[list[Endpoint | None]]] = defaultdict(list)
    for pod, sequence in sequences.items():
        by_pattern[plain(pod)].append(sequence)
    return {pattern: sorted(found, key=str) for pattern, found in by_pattern.items()}


def _pod_of(point: Json) -> str:
    return str((point.get("targetRef") or {}).get("name", "?"))


def _conditions(point: Json) -> Endpoint:
    conditions = point.get("conditions") or {}
    ready = conditions.get("ready")
    return bool(ready), bool(conditions.get("serving", ready)), bool(conditions.get("terminating"))


def _claims(changes: list[Json]) -> dict[str, list[str | None]]:
    phases: defaultdict[str, list[str | None]] = defaultdict(list)
    for change in _of(changes, "PersistentVolumeClaim"):
        _append_new(phases[change["name"]], _status(change).get("phase"))
    return {plain(name): sequence for name, sequence in phases.items()}
