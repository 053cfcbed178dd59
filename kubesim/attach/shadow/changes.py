"""The changes between two observations of a pod, in a small vocabulary, with the time window of each.

The steps of a statement use the same vocabulary (`Step.change`), so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import (
    INITIALIZED,
    POD_READY_TO_START_CONTAINERS,
    POD_RESIZE_IN_PROGRESS,
    POD_RESIZE_PENDING,
    POD_SCHEDULED,
    READY,
    TRUE,
    find_condition,
)
from kubesim.attach.explain.observation import moment
from kubesim.attach.explain.statement import ChangeKind
from kubesim.attach.explain.tolerances import TRUNCATION
from kubesim.values import value_object

# Changes by users and other components; everything else is done by the kubelet or the program.
OUTSIDE = frozenset({"deletion-requested", "changed-by-others", "scheduled", "unschedulable"})


@value_object
class ObservedChange:
    """A change. `earliest` and `latest` bound its time: by the time in the status (`timed`), otherwise by the two
    observations."""

    kind: ChangeKind
    container: str = ""
    detail: str = ""
    earliest: int = 0
    latest: int = 0
    timed: bool = False


def changes(old: Pod, new: Pod | None, before: int, now: int) -> tuple[ObservedChange, ...]:
    """The changes from the old observation to the new one; None = the object does not exist."""
    if new is None:
        return (ObservedChange("removed", earliest=before, latest=now),)
    found = [ObservedChange(kind, container, detail, before, now) for kind, container, detail in _pod(old, new)]
    for before_status, after_status in _containers(old, new):
        found += _container(before_status, after_status, before, now)
    return tuple(found)


def _pod(old: Pod, new: Pod) -> Iterator[tuple[ChangeKind, str, str]]:
    if not old.spec.node_name and new.spec.node_name:
        yield "scheduled", "", new.spec.node_name
    yield from _deletion(old, new)
    if new.metadata.generation != old.metadata.generation and new.metadata.deletion_timestamp is None:
        yield "changed-by-others", "", f"generation {new.metadata.generation}"
    before, after = old.status, new.status
    if after.observed_generation > before.observed_generation > 0:
        yield "acknowledged", "", str(after.observed_generation)
    if before.start_time is None and after.start_time is not None:
        # A static pod's containers exist before its mirror pod; a rejected pod has no conditions.
        yield ("rejected" if after.phase in TERMINAL_PHASES and not after.conditions else "accepted"), "", after.reason
    if after.phase in TERMINAL_PHASES and before.phase not in TERMINAL_PHASES:
        yield "ended", "", after.phase
    yield from _conditions(old, new)


def _deletion(old: Pod, new: Pod) -> Iterator[tuple[ChangeKind, str, str]]:
    asked, asked_before = new.metadata.deletion_timestamp, old.metadata.deletion_timestamp
    grace, grace_before = new.metadata.deletion_grace_period_seconds, old.metadata.deletion_grace_period_seconds
    if asked is not None and asked_before is None:
        yield "deletion-requested", "", str(grace)
    if asked is not None and grace == 0 and grace_before != 0:
        yield "finalizing", "", ""


def _conditions(old: Pod, new: Pod) -> Iterator[tuple[ChangeKind, str, str]]:
    words: tuple[tuple[str, ChangeKind, ChangeKind | None], ...] = (
        (POD_READY_TO_START_CONTAINERS, "sandbox-ready", "sandbox-lost"),
        (INITIALIZED, "initialized", None),
        (READY, "ready", "unready"),
    )
    for kind, becomes, loses in words:
        before, after = _is_true(old, kind), _is_true(new, kind)
        if after and not before:
            yield becomes, "", ""
        elif before and not after and loses is not None:
            yield loses, "", ""
    scheduled = find_condition(new.status.conditions, POD_SCHEDULED)
    if scheduled is not None and scheduled.status == "False" and not _same_condition(old, new, POD_SCHEDULED):
        yield "unschedulable", "", scheduled.reason
    for kind in (POD_RESIZE_IN_PROGRESS, POD_RESIZE_PENDING):
        before, after = _is_true(old, kind), _is_true(new, kind)
        if before != after:
            yield ("resizing" if after else "resized"), "", kind


def _is_true(pod: Pod, kind: str) -> bool:
    condition = find_condition(pod.status.conditions, kind)
    return condition is not None and condition.status == TRUE


def _same_condition(old: Pod, new: Pod, kind: str) -> bool:
    one, other = find_condition(old.status.conditions, kind), find_condition(new.status.conditions, kind)
    if one is None or other is None:
        return one is other
    return (one.status, one.reason, one.message) == (other.status, other.reason, other.message)


def _containers(old: Pod, new: Pod) -> Iterator[tuple[ContainerStatus | None, ContainerStatus]]:
    for field in ("init_container_statuses", "container_statuses", "ephemeral_container_statuses"):
        before = {status.name: status for status in getattr(old.status, field)}
        for status in getattr(new.status, field):
            yield before.get(status.name), status


def _container(old: ContainerStatus | None, new: ContainerStatus, before: int, now: int) -> Iterator[ObservedChange]:
    name = new.name
    was, state = (old.state if old is not None else None), new.state
    attempts = new.restart_count - (old.restart_count if old is not None else 0)
    if state.running is not None and (was is None or was.running is None or attempts > 0):
        yield _timed("started", name, f"restart {new.restart_count}", state.running.started_at, before, now)
    elif attempts > 0 and old is not None:
        # An attempt that ended before any status showed it running.
        yield ObservedChange("started", name, f"restart {new.restart_count}", before, now)
    ended = state.terminated
    ran = was is not None and was.running is not None
    if ended is not None and (old is None or ran or ended.finished_at not in _ends(old)):
        detail = f"{ended.reason} {ended.exit_code}".strip()
        yield _timed("exited", name, detail, ended.finished_at, before, now)
    if state.waiting is not None and old is not None:
        reason_before = was.waiting.reason if was is not None and was.waiting is not None else None
        if reason_before != state.waiting.reason:
            yield ObservedChange("waits", name, state.waiting.reason, before, now)
    elif old is None and state.waiting is not None:
        yield ObservedChange("waits", name, state.waiting.reason, before, now)
    started_before = bool(old.started) if old is not None else False
    if new.started and not started_before and attempts == 0 and was is not None and was.running is not None:
        yield ObservedChange("started-up", name, "", before, now)
    ready_before = old.ready if old is not None else False
    if new.ready and not ready_before:
        yield ObservedChange("container-ready", name, "", before, now)
    elif ready_before and not new.ready:
        yield ObservedChange("container-unready", name, "", before, now)


def _ends(status: ContainerStatus) -> list[str | None]:
    """The exits in a status, including the previous attempt while a container waits for its next one."""
    return [s.terminated.finished_at for s in (status.state, status.last_state) if s.terminated is not None]


def _timed(kind: ChangeKind, name: str, detail: str, reported: str | None, before: int, now: int) -> ObservedChange:
    """A change at the runtime's own time, which is truncated to seconds."""
    at = moment(reported)
    if at is None:
        return ObservedChange(kind, name, detail, before, now)
    return ObservedChange(kind, name, detail, at, at + TRUNCATION, timed=True)
