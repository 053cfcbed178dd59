"""PodConfig: turns the pod lists of the sources into operations for the sync loop.

Each source (file, http, apiserver) sends its whole list every time. The sync loop needs the pods that are new, changed,
being deleted, removed, or changed only in their status. The functions are pure: the time of arrival is an argument.

A source that knows which single pod changed calls `upsert` or `remove`. The result is the same as for a whole snapshot,
without comparing the source's other pods.

Mirrors: pkg/kubelet/config/config.go PodConfig, podStorage.Merge, checkAndUpdatePod
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import field
from typing import Literal

from kubesim.api.meta import CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE
from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import pod_full_name
from kubesim.api.timestamps import format_micro_time
from kubesim.golang.text import quoted
from kubesim.values import mutable, value_object

Change = Literal["UPDATE", "DELETE", "RECONCILE"]  # for a known pod
Operation = Literal["ADD", "REMOVE", "RESTORE", "SET"] | Change

# Set by the kubelet, so unknown to the source and kept.
LOCAL_ANNOTATIONS = frozenset({CONFIG_SOURCE, CONFIG_MIRROR, CONFIG_SEEN})


@value_object
class PodUpdate:
    """One message to the sync loop. An ADD without pods only marks its source as received."""

    op: Operation
    source: str
    pods: tuple[Pod, ...]


@value_object
class DroppedPod:
    """A pod that was ignored because the same snapshot contains an earlier pod of that name."""

    pod: Pod
    source: str

    @property
    def message(self) -> str:
        """The message of the Event (Warning, FailedValidation)."""
        meta = self.pod.metadata
        return (
            f"Error validating pod {meta.name}_{meta.namespace}({meta.uid}) from {self.source}"
            f" due to duplicate pod name {quoted(meta.name)}, ignoring"
        )


@mutable
class _Source:
    """The wanted pods of one source."""

    pods: dict[str, Pod] = field(default_factory=dict)
    """By uid: the pod as the kubelet holds it."""
    given: dict[str, Pod] = field(default_factory=dict)
    """By full name: the pod as the source last reported it."""

    def has_shared_uids(self) -> bool:
        """A faulty source can give one UID to several names."""
        return len(self.given) != len(self.pods)


@mutable
class _Changes:
    """The five lists of changes. Known pods are listed by UID: their final state is read after all comparisons."""

    adds: list[Pod] = field(default_factory=list)
    updates: list[str] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)
    reconciles: list[str] = field(default_factory=list)
    removes: list[Pod] = field(default_factory=list)

    def note(self, operation: Change | None, uid: str) -> None:
        if operation == "UPDATE":
            self.updates.append(uid)
        elif operation == "DELETE":
            self.deletes.append(uid)
        elif operation == "RECONCILE":
            self.reconciles.append(uid)


class PodConfig:
    """The wanted pods of all sources; each report is merged and returns the differences."""

    def __init__(self, sources: Iterable[str]) -> None:
        self.sources = frozenset(sources)
        self.dropped: tuple[DroppedPod, ...] = ()
        """The duplicates that the last report contained."""
        self._reported: dict[str, _Source] = {}

    def merge(self, source: str, pods: Iterable[Pod], now: int) -> list[PodUpdate]:
        """Merge a source's full list of wanted pods."""
        known = self._reported.get(source)
        wanted = self._without_duplicates(source, pods)
        fresh = _Source(given=wanted)
        changes = _Changes()
        old = known.pods if known is not None else {}
        for pod in wanted.values():
            uid = pod.metadata.uid
            existing = old.get(uid)
            if existing is None:
                fresh.pods[uid] = _first_seen(pod, source, now)
                changes.adds.append(fresh.pods[uid])
            else:
                # A repeated UID is compared with the result of its first occurrence.
                operation, fresh.pods[uid] = _compare(fresh.pods.get(uid, existing), pod)
                changes.note(operation, uid)
        changes.removes = [old[uid] for uid in sorted(old.keys() - fresh.pods.keys())]
        self._reported[source] = fresh
        return _messages(source, changes, fresh, first=known is None)

    def upsert(self, source: str, pod: Pod, now: int) -> list[PodUpdate]:
        """Merge one added or changed pod of a source; its other pods are unchanged."""
        known = self._reported.get(source)
        if known is None:
            return self.merge(source, (pod,), now)
        metadata, given, pods = pod.metadata, known.given, known.pods
        full_name, uid = pod_full_name(pod), metadata.uid
        existing, replaced = pods.get(uid), given.get(full_name)
        old = None if replaced is None else replaced.metadata
        is_its_own = old is not None and old.uid == uid
        if known.has_shared_uids() or is_its_own != (existing is not None):
            return self.merge(source, {**given, full_name: pod}.values(), now)
        self.dropped = ()
        given[full_name] = pod  # an update keeps the pod's position
        if old is not None and existing is not None:
            operation, held = _compare(existing, pod, old.annotations is metadata.annotations)
            if operation is None:
                return []
            pods[uid] = held
            return [PodUpdate(operation, source, (held,))]
        messages = []
        if old is not None:
            messages.append(PodUpdate("REMOVE", source, (pods.pop(old.uid),)))
        pods[uid] = held = _first_seen(pod, source, now)
        messages.append(PodUpdate("ADD", source, (held,)))
        return messages

    def remove(self, source: str, namespace: str, name: str, now: int) -> list[PodUpdate]:
        """Remove one pod of a source; its other pods are unchanged."""
        full_name = f"{name}_{namespace}"
        known = self._reported.get(source)
        given = known.given if known is not None else {}
        if known is None or known.has_shared_uids():
            return self.merge(source, [pod for other, pod in given.items() if other != full_name], now)
        self.dropped = ()
        gone = given.pop(full_name, None)
        if gone is None:
            return []
        return [PodUpdate("REMOVE", source, (known.pods.pop(gone.metadata.uid),))]

    def restore(self, source: str, pods: Iterable[Pod]) -> list[PodUpdate]:
        """Pods checkpointed before a restart: passed on, but neither stored nor counted as a report of the source."""
        return [PodUpdate("RESTORE", source, restored)] if (restored := tuple(pods)) else []

    def merged_state(self) -> tuple[Pod, ...]:
        """The pods of all sources."""
        return tuple(pod for source in self._reported.values() for pod in source.pods.values())

    def seen_all_sources(self, seen: Set[str]) -> bool:
        """Whether every registered source has reported, and the sync loop has handled a report of each (`seen`)."""
        return self.sources <= seen and self.sources <= self._reported.keys()

    def _without_duplicates(self, source: str, pods: Iterable[Pod]) -> dict[str, Pod]:
        wanted: dict[str, Pod] = {}
        dropped: list[DroppedPod] = []
        for pod in pods:
            full_name = pod_full_name(pod)
            if full_name in wanted:
                dropped.append(DroppedPod(pod, source))
            else:
                wanted[full_name] = pod
        self.dropped = tuple(dropped)
        return wanted


def _first_seen(pod: Pod, source: str, now: int) -> Pod:
    meta = pod.metadata
    annotations = {**meta.annotations, CONFIG_SOURCE: source, CONFIG_SEEN: _nano_time(now)}
    return pod.changed(metadata=meta.changed(annotations=annotations))


def _compare(existing: Pod, given: Pod, same_annotations: bool = False) -> tuple[Change | None, Pod]:
    """The kind of change, and the stored pod after its source sent it again. The caller may already know that its
    annotations are unchanged.
    """
    if not _differ_semantically(existing, given, same_annotations):
        if existing.status is given.status or existing.status == given.status:
            return None, existing
        return "RECONCILE", existing.changed(status=given.status)
    # Everything else stays as first received, including name and resource version.
    metadata = existing.metadata.changed(
        labels=given.metadata.labels,
        deletion_timestamp=given.metadata.deletion_timestamp,
        deletion_grace_period_seconds=given.metadata.deletion_grace_period_seconds,
        generation=given.metadata.generation,
        annotations=_updated_annotations(existing.metadata.annotations, given.metadata.annotations),
    )
    changed = existing.changed(spec=given.spec, status=given.status, metadata=metadata)
    return "UPDATE" if metadata.deletion_timestamp is None else "DELETE", changed


def _differ_semantically(existing: Pod, given: Pod, same_annotations: bool) -> bool:
    old, new = existing.metadata, given.metadata
    return not (
        (existing.spec is given.spec or existing.spec == given.spec)
        and old.labels == new.labels
        and old.deletion_timestamp == new.deletion_timestamp
        and old.deletion_grace_period_seconds == new.deletion_grace_period_seconds
        and (same_annotations or _own_annotations(old.annotations) == _own_annotations(new.annotations))
    )


def _own_annotations(annotations: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key not in LOCAL_ANNOTATIONS}


def _updated_annotations(existing: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    local = {key: existing[key] for key in LOCAL_ANNOTATIONS if key in existing}
    return {**given, **local}


def _messages(source: str, changes: _Changes, known: _Source, *, first: bool) -> list[PodUpdate]:
    """The messages in the kubelet's order: removals first, status-only changes last."""
    pods = known.pods
    updates = tuple(pods[uid] for uid in changes.updates)
    deletes = tuple(pods[uid] for uid in changes.deletes)
    reconciles = tuple(pods[uid] for uid in changes.reconciles)
    messages: list[PodUpdate] = []
    if changes.removes:
        messages.append(PodUpdate("REMOVE", source, tuple(changes.removes)))
    if changes.adds:
        messages.append(PodUpdate("ADD", source, tuple(changes.adds)))
    if updates:
        messages.append(PodUpdate("UPDATE", source, updates))
    if deletes:
        messages.append(PodUpdate("DELETE", source, deletes))
    if first and not (changes.adds or updates or deletes):
        messages.append(PodUpdate("ADD", source, ()))
    if reconciles:
        messages.append(PodUpdate("RECONCILE", source, reconciles))
    return messages


def _nano_time(micros: int) -> str:
    """RFC 3339 in Go's format: fractional seconds without trailing zeros, and no fraction for a whole second."""
    text = format_micro_time(micros)[:-1].rstrip("0").rstrip(".")
    return text + "Z"
