"""Checks whether one status may follow another: changes that the status manager rejects, and fields that never revert.

Mirrors: status/status_manager.go (checkContainerStateTransition, updateLastTransitionTime), kubelet_pods.go (terminal
phases stick, restart counts)
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import ContainerStateTerminated, ContainerStatus, Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import (
    CONTAINERS_READY,
    INITIALIZED,
    POD_READY_TO_START_CONTAINERS,
    POD_SCHEDULED,
    READY,
    find_condition,
)
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.attach.explain.observation import Observation, moment
from kubesim.attach.explain.runtime_truth import sandbox_changed
from kubesim.attach.explain.statement import Fact
from kubesim.attach.explain.tolerances import REPORTING
from kubesim.attach.shadow.divergence import Divergence, diverges
from kubesim.golang.text import duration
from kubesim.kubelet.status.generate.reasons import CONTAINER_STATUS_UNKNOWN
from kubesim.kubelet.status.manager_rules import check_container_state_transition

_TIMED = (POD_READY_TO_START_CONTAINERS, INITIALIZED, READY, CONTAINERS_READY, POD_SCHEDULED)


def transition_divergences(seen: Observation, old: Pod, before: int) -> Iterator[Divergence]:
    """The rules that a change from the old status to the new one breaks; both have the same uid."""
    was, status = old.status, seen.pod.status
    if was.phase in TERMINAL_PHASES and status.phase != was.phase:
        yield _breaks(
            seen,
            f"phase {was.phase} became {status.phase or 'empty'}",
            "A terminal phase is final.",
            Fact("status.phase", status.phase),
        )
    moved = was.start_time is not None and status.start_time != was.start_time
    # A restarted kubelet adds a static pod as new, and its times start again.
    begun_again = moved and is_mirror_pod(seen.pod)
    if moved and not begun_again:
        yield _breaks(
            seen,
            "startTime changed",
            "startTime is set once, by the first status.",
            Fact("before", str(was.start_time)),
            Fact("status.startTime", str(status.start_time)),
        )
    if status.observed_generation < was.observed_generation:
        yield _breaks(
            seen,
            "observedGeneration went back",
            "Generations only grow.",
            Fact("before", str(was.observed_generation)),
            Fact("status.observedGeneration", str(status.observed_generation)),
        )
    if old.spec == seen.pod.spec:
        refused = check_container_state_transition(was, status, seen.pod.spec, seen.gates)
        if refused:
            yield _breaks(
                seen,
                refused,
                "The status manager refuses a status in which a container that may not restart is alive again.",
                Fact("spec.restartPolicy", seen.pod.spec.restart_policy),
            )
    if not begun_again:
        yield from _times(seen, old)
    for field in ("init_container_statuses", "container_statuses"):
        known = {one.name: one for one in getattr(was, field)}
        for new in getattr(status, field):
            if new.name in known:
                in_sandbox = field == "container_statuses" or not _removed_with_sandbox(seen, known[new.name])
                yield from _container(seen, known[new.name], new, before, counted=in_sandbox)
        names = {one.name for one in getattr(status, field)}
        for name in known:
            if name not in names and status.conditions:
                yield _breaks(
                    seen,
                    f"the status of container {name} disappeared",
                    "Every sync reports the status of every container of the spec.",
                    Fact(f"status.{field}", ", ".join(sorted(names))),
                )


def _times(seen: Observation, old: Pod) -> Iterator[Divergence]:
    restarted = _attempts(old) != _attempts(seen.pod)
    for kind in _TIMED:
        was = find_condition(old.status.conditions, kind)
        now = find_condition(seen.pod.status.conditions, kind)
        if was is None or now is None:
            continue
        then, since = moment(was.last_transition_time), moment(now.last_transition_time)
        if was.status == now.status and then != since:
            if restarted and kind in (READY, CONTAINERS_READY) and (then or 0) < (since or 0):
                continue  # a newer write overtook the one with the other value
            yield _breaks(
                seen,
                f"lastTransitionTime of {kind} moved although it stayed {now.status}",
                "lastTransitionTime changes only when a condition's status does.",
                Fact("before", str(was.last_transition_time)),
                Fact(f"status.conditions[{kind}].lastTransitionTime", str(now.last_transition_time)),
            )
        elif was.status != now.status and then is not None and since is not None and since < then:
            yield _breaks(
                seen,
                f"{kind} became {now.status} at a time before it was {was.status}",
                "lastTransitionTime is the time of the change.",
                Fact("before", str(was.last_transition_time)),
                Fact(f"status.conditions[{kind}].lastTransitionTime", str(now.last_transition_time)),
            )


def _attempts(pod: Pod) -> list[tuple[str, int, str]]:
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return [(one.name, one.restart_count, one.container_id) for one in statuses]


def _removed_with_sandbox(seen: Observation, old: ContainerStatus) -> bool:
    """Whether the container's record was removed with its sandbox. Before it creates a sandbox, the kubelet removes all
    init containers with their logs, which hold the restart count (kuberuntime_container.go purgeInitContainers,
    calcRestartCountByLogDir)."""
    ends = (old.state.terminated, old.last_state.terminated)
    reported = [old.state.running.started_at] if old.state.running is not None else []
    times = [moment(time) for time in (*reported, *(end.finished_at for end in ends if end is not None))]
    since = max((time for time in times if time is not None), default=None)
    if seen.events_of("SandboxChanged"):
        return True  # the status keeps the old count until the new one has caught up
    return since is not None and sandbox_changed(seen, since)


def _container(
    seen: Observation, old: ContainerStatus, new: ContainerStatus, before: int, *, counted: bool
) -> Iterator[Divergence]:
    """Check one container. `counted`: whether the kubelet still knows the earlier attempts."""
    if counted:
        yield from _restarts(seen, old, new, before)
    if old.container_id and new.container_id == old.container_id:
        yield from _same_attempt(seen, old, new)
    if counted and old.container_id and new.state.running is not None:
        yield from _attempts_counted(seen, old, new)


def _restarts(seen: Observation, old: ContainerStatus, new: ContainerStatus, before: int) -> Iterator[Divergence]:
    """The restart count never decreases, and increases only as fast as the crash back-off allows."""
    name, more = new.name, new.restart_count - old.restart_count
    if more < 0:
        yield _breaks(
            seen, f"restartCount of {name} went back", "Restarts are only counted up.", *_restart_counts(old, new)
        )
    at_once = int(old.restart_count == 0)  # the first restart has no back-off
    least = (more - at_once) * seen.periods.crash_wait(1) + at_once * seen.periods.crash_wait(0)
    # A restart is timed only as precisely as the kubelet reports statuses.
    if more > 1 and seen.now - before + REPORTING < least - seen.periods.crash_wait(1):
        yield _breaks(
            seen,
            f"{name} was restarted {more} times within {duration(seen.now - before)}",
            "After the first restart each one waits for the crash back-off, 10 s at least.",
            *_restart_counts(old, new),
        )


def _same_attempt(seen: Observation, old: ContainerStatus, new: ContainerStatus) -> Iterator[Divergence]:
    """Two statuses with the same container id agree on its start and its end."""
    was, now = old.state, new.state
    if was.terminated is not None and old.restart_count == new.restart_count:
        if now.running is not None:
            yield _breaks(
                seen,
                f"{new.name} runs again under its old container id",
                "A container that ended never runs again: a restart creates a new one.",
                Fact(f"container {new.name} containerID", new.container_id),
            )
        elif now.terminated is not None and _contradicts_end(old, now.terminated):
            yield _breaks(
                seen,
                f"the end of {new.name} is reported differently than before",
                "The recorded end of an attempt does not change.",
                Fact("before", str(_end(was.terminated))),
                Fact("now", str(_end(now.terminated))),
            )
    began, begins = was.running, now.running
    if began is not None and begins is not None and began.started_at != begins.started_at:
        yield _breaks(
            seen,
            f"{new.name} started at another time than before",
            "startedAt of an attempt does not change.",
            Fact("before", str(began.started_at)),
            Fact("now", str(begins.started_at)),
        )


def _contradicts_end(old: ContainerStatus, now: ContainerStateTerminated) -> bool:
    """Whether an earlier status reported another end of the same attempt. ContainerStatusUnknown is a stand-in for a
    container that still waits or runs when its pod is terminated (status_manager.go TerminatePod); a restarted kubelet
    then reports the end from the runtime. For a waiting container, lastState already reported that end."""
    was, last = old.state.terminated, old.last_state.terminated
    if was is None or _end(was) == _end(now):
        return False
    if was.reason == CONTAINER_STATUS_UNKNOWN and was.finished_at is None:
        return last is not None and last.container_id == old.container_id and _end(last) != _end(now)
    return True


def _lost_its_record(status: ContainerStatus) -> bool:
    """Whether the record of the attempt before this one was gone, so that the kubelet inferred its end and counted
    it (convertToAPIContainerStatuses). The runtime then counts from 0, and the status keeps the higher count."""
    end = status.last_state.terminated
    return end is not None and end.reason == CONTAINER_STATUS_UNKNOWN and not end.container_id


def _attempts_counted(seen: Observation, old: ContainerStatus, new: ContainerStatus) -> Iterator[Divergence]:
    """The container id of a running container changes if, and only if, the restart count increases."""
    changed = new.container_id not in ("", old.container_id)
    if changed and old.restart_count == new.restart_count and not _lost_its_record(old):
        yield _breaks(
            seen,
            f"{new.name} is another container, but its restartCount stayed {new.restart_count}",
            "Every new attempt counts as a restart.",
            *_restart_counts(old, new),
            Fact(f"container {new.name} containerID", new.container_id),
        )
    elif not changed and new.restart_count > old.restart_count:
        yield _breaks(
            seen,
            f"restartCount of {new.name} rose, but it is the same container",
            "A restart creates a new container.",
            *_restart_counts(old, new),
        )


def _restart_counts(old: ContainerStatus, new: ContainerStatus) -> tuple[Fact, Fact]:
    return (
        Fact("before", str(old.restart_count)),
        Fact(f"container {new.name} restartCount", str(new.restart_count)),
    )


def _end(ended: ContainerStateTerminated) -> tuple[object, ...]:
    return tuple(getattr(ended, field) for field in ("exit_code", "reason", "started_at", "finished_at"))


def _breaks(seen: Observation, says: str, rule: str, *evidence: Fact) -> Divergence:
    return diverges(seen, "transition", says, rule, *evidence)
