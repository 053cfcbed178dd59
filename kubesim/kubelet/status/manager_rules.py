"""Pure rules of the status manager: invalid transitions, equality, and merging with the API server's status.

`manager.py` keeps the statuses and calls these. Time is an argument; a status is never mutated.

Mirrors: pkg/kubelet/status/status_manager.go (checkContainerStateTransition, updateLastTransitionTime, normalizeStatus,
isPodStatusByKubeletEqual, mergePodStatus, canBeDeleted, SetContainerReadiness, SetContainerStartup).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter, is_not
from typing import Any

from kubesim.api.pod import (
    Container,
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from kubesim.api.pods.phases import FAILED, TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import (
    CONTAINERS_READY,
    DISRUPTION_TARGET,
    FALSE,
    INITIALIZED,
    POD_READY_TO_START_CONTAINERS,
    POD_SCHEDULED,
    READY,
    TRUE,
    find_condition,
    put_condition,
)
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.pods.sidecars import ALWAYS, is_restartable_init_container
from kubesim.api.quantity import quantity
from kubesim.api.timestamps import format_time
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.status.generate.conditions import (
    condition_observed_generation,
    condition_since,
    conditions_by_kubelet,
    generate_containers_ready_condition,
    generate_pod_ready_condition,
)
from kubesim.kubelet.status.generate.reasons import POD_COMPLETED, POD_FAILED
from kubesim.runtime.kuberuntime.decide.restart_policy import (
    ALL_CONTAINERS_RESTARTING,
    ON_FAILURE,
    all_containers_could_restart,
    container_should_restart,
)

MAX_POD_TERMINATION_MESSAGE_LENGTH = 12 * 1024  # bytes, shared by the containers of a pod

_TIMED_CONDITIONS = frozenset(
    {CONTAINERS_READY, READY, INITIALIZED, POD_READY_TO_START_CONTAINERS, POD_SCHEDULED, DISRUPTION_TARGET,
     ALL_CONTAINERS_RESTARTING}
)  # fmt: skip
# Status fields owned by other components; they are kept as extra fields.
_FOREIGN_FIELDS = (
    "resource_claim_statuses",
    "extended_resource_claim_status",
    "node_allocatable_resource_claim_statuses",
)
_CONTAINER_LISTS = ("init_container_statuses", "container_statuses", "ephemeral_container_statuses")
_COMPARED_APART = {"conditions", "allocated_resources", "resources", *_FOREIGN_FIELDS, *_CONTAINER_LISTS}
_foreign_values, _container_lists = attrgetter(*_FOREIGN_FIELDS), attrgetter(*_CONTAINER_LISTS)
_plain_values = attrgetter("extra", *(name for name in PodStatus.declared if name not in _COMPARED_APART))
_NAME = attrgetter("name")
_BROKEN_BYTE = re.compile("[\udc80-\udcff]")


def container_by_index(
    containers: Sequence[Container], statuses: Sequence[ContainerStatus], index: int
) -> Container | None:
    """The container at this index, if its status has the same index."""
    if index >= len(containers) or index >= len(statuses) or containers[index].name != statuses[index].name:
        return None
    return containers[index]


def check_container_state_transition(
    old: PodStatus, new: PodStatus, spec: PodSpec, gates: FeatureGates = DEFAULT_GATES
) -> str:
    """The error of an invalid transition (a terminated container that may not restart became active), or empty."""
    if spec.restart_policy == ALWAYS:
        return ""
    if gates.enabled("RestartAllContainersOnContainerExits") and all_containers_could_restart(spec):
        return ""
    for status in old.container_statuses:
        if _must_stay_terminated(status, spec.containers, spec, gates) and _revived(status, new.container_statuses):
            return f"terminated container {status.name} attempted illegal transition to non-terminated state"
    for index, status in enumerate(old.init_container_statuses):
        container = container_by_index(spec.init_containers, old.init_container_statuses, index)
        if container is None:
            return f"found mismatch between pod spec and status, container: {status.name}"
        if is_restartable_init_container(container):
            continue
        if _must_stay_terminated(status, spec.init_containers, spec, gates) and _revived(
            status, new.init_container_statuses
        ):
            return f"terminated init container {status.name} attempted illegal transition to non-terminated state"
    return ""


def _must_stay_terminated(
    status: ContainerStatus, containers: Sequence[Container], spec: PodSpec, gates: FeatureGates
) -> bool:
    terminated = status.state.terminated
    if terminated is None:
        return False
    if terminated.exit_code != 0 and spec.restart_policy == ON_FAILURE:
        return False
    if not gates.enabled("ContainerRestartRules"):
        return True
    own = [container for container in containers if container.name == status.name]
    return not [c for c in own if container_should_restart(c, spec, terminated.exit_code, gates)]


def _revived(old: ContainerStatus, statuses: Sequence[ContainerStatus]) -> bool:
    return old.name in [status.name for status in statuses if status.state.terminated is None]


def with_transition_times(
    conditions: tuple[PodCondition, ...], old: tuple[PodCondition, ...], now: int
) -> tuple[PodCondition, ...]:
    """The kubelet's conditions with transition times: the old time if the condition's status is equal, else now."""
    before = {condition.type: condition for condition in reversed(old)}
    untimed = set(_TIMED_CONDITIONS)  # the first condition of each type counts
    timed, started = [], format_time(now)
    for condition in conditions:
        kind = condition.type
        if kind in untimed:
            untimed.remove(kind)
            was = before.get(kind)
            if was is None or was.status != condition.status:
                condition = condition_since(condition, started)
            elif was is not condition:
                condition = condition_since(condition, was.last_transition_time)
        timed.append(condition)
    return tuple(timed)


def normalize_status(pod: Pod, status: PodStatus) -> PodStatus:
    """Truncate messages and sort containers, as the API server's copy would be.

    Upstream also truncates times to whole seconds, the API server's precision; here they already have it.
    """
    changes: dict[str, Any] = {}
    for name, before in zip(_CONTAINER_LISTS, _container_lists(status), strict=True):
        if not before:
            continue
        statuses = [
            s if s.state.terminated is None and s.last_state.terminated is None else _normalized_container(s, pod.spec)
            for s in before
        ]
        if name == "init_container_statuses":
            _sort_init(pod.spec.init_containers, statuses)
        elif len(statuses) > 1:
            statuses.sort(key=_NAME)
        if any(map(is_not, statuses, before)):
            changes[name] = tuple(statuses)
    return status.changed(**changes) if changes else status


def _normalized_container(status: ContainerStatus, spec: PodSpec) -> ContainerStatus:
    state, last_state = _normalized_state(status.state, spec), _normalized_state(status.last_state, spec)
    if state is not status.state:
        status = status.changed(state=state)
    return status if last_state is status.last_state else status.changed(last_state=last_state)


def _normalized_state(state: ContainerState, spec: PodSpec) -> ContainerState:
    terminated = state.terminated
    if terminated is None or not terminated.message:
        return state
    containers = len(spec.containers) + len(spec.init_containers) + len(spec.ephemeral_containers)
    room = MAX_POD_TERMINATION_MESSAGE_LENGTH // (containers or 1)
    if len(terminated.message) * 4 <= room or len(encoded := terminated.message.encode()) <= room:
        return state
    # Go cuts bytes; the remaining bytes of a cut character are printed one by one.
    cut = _BROKEN_BYTE.sub("\ufffd", encoded[:room].decode("utf-8", "surrogateescape"))
    return state.changed(terminated=terminated.changed(message=cut))


def _sort_init(containers: Sequence[Container], statuses: list[ContainerStatus]) -> None:
    """Sort by spec order with swaps: statuses of unknown names end up last, not in their old order."""
    current = 0
    for container in containers:
        for n in range(current, len(statuses)):
            if statuses[n].name == container.name:
                statuses[current], statuses[n] = statuses[n], statuses[current]
                current += 1
                break


def is_pod_status_by_kubelet_equal(old: PodStatus, new: PodStatus, gates: FeatureGates = DEFAULT_GATES) -> bool:
    """Whether two normalized statuses are equal in the kubelet's fields, without condition times."""
    if old.conditions != new.conditions:
        own = conditions_by_kubelet(gates)
        if _said_by_kubelet(old.conditions, own) != _said_by_kubelet(new.conditions, own):
            return False
    elif old == new:
        return True
    if _plain_values(old) != _plain_values(new):
        return False
    if not all(map(_same_containers, _container_lists(old), _container_lists(new))):
        return False
    if not _same_amounts(old.allocated_resources, new.allocated_resources):
        return False
    return _same_resources(old.resources, new.resources)


def _said_by_kubelet(conditions: tuple[PodCondition, ...], own: frozenset[str]) -> Mapping[str, tuple[str, str, str]]:
    return {c.type: (c.status, c.reason, c.message) for c in conditions if c.type in own or c.type == DISRUPTION_TARGET}


def _same_containers(left: Sequence[ContainerStatus], right: Sequence[ContainerStatus]) -> bool:
    return left is right or (len(left) == len(right) and all(map(_same_container, left, right)))


def _same_container(left: ContainerStatus, right: ContainerStatus) -> bool:
    """Whether they are equal except for the spelling of quantities."""
    if left == right:
        return True
    if left.resources == right.resources and left.allocated_resources == right.allocated_resources:
        return False  # another field differs
    return (
        _same_resources(left.resources, right.resources)
        and _same_amounts(left.allocated_resources, right.allocated_resources)
        and left.changed(resources=right.resources, allocated_resources=right.allocated_resources) == right
    )


def _same_resources(left: ResourceRequirements | None, right: ResourceRequirements | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or (
        _same_amounts(left.requests, right.requests)
        and _same_amounts(left.limits, right.limits)
        and left.claims == right.claims
    )


def _same_amounts(left: Mapping[str, str | int | float], right: Mapping[str, str | int | float]) -> bool:
    if left == right:
        return True
    return left.keys() == right.keys() and all(quantity(left[name]) == quantity(right[name]) for name in left)


def becomes_terminal(old: PodStatus, new: PodStatus) -> bool:
    return new.phase in TERMINAL_PHASES and old.phase not in TERMINAL_PHASES


def merge_pod_status(
    pod: Pod,
    old: PodStatus,
    new: PodStatus,
    could_have_running_containers: bool,
    now: int,
    gates: FeatureGates = DEFAULT_GATES,
) -> PodStatus:
    """The status to send: the kubelet's, merged with fields of other writers.

    A terminal phase and its DisruptionTarget condition are delayed until no container can be running.
    """
    ends = becomes_terminal(old, new)
    own = conditions_by_kubelet(gates)
    conditions = [c for c in old.conditions if c.type not in own]
    if ends and not could_have_running_containers:
        for condition in new.conditions:
            if condition.type in own:
                conditions.append(condition)
            elif condition.type == DISRUPTION_TARGET:
                put_condition(conditions, *with_transition_times((condition,), old.conditions, now))
    else:
        conditions += [c for c in new.conditions if c.type in own]
    changes: dict[str, Any] = {}
    if ends and could_have_running_containers:
        changes = {"phase": old.phase, "reason": old.reason, "message": old.message}
    elif new.phase in TERMINAL_PHASES and _is_ready(conditions):
        for kind in (CONTAINERS_READY, READY) if gates.rules.containers_ready_condition else (READY,):
            _update_condition(conditions, _not_ready_any_more(pod, old, kind, new.phase, gates), now)
    if len(conditions) != len(new.conditions) or any(map(is_not, conditions, new.conditions)):
        changes["conditions"] = tuple(conditions)
    return _with_foreign_fields(new.changed(**changes) if changes else new, old)


def _is_ready(conditions: Sequence[PodCondition]) -> bool:
    found = (find_condition(conditions, kind) for kind in (READY, CONTAINERS_READY))
    return any(condition is not None and condition.status == TRUE for condition in found)


def _not_ready_any_more(pod: Pod, old: PodStatus, kind: str, phase: str, gates: FeatureGates) -> PodCondition:
    return PodCondition(
        type=kind,
        observed_generation=condition_observed_generation(pod, old, kind, gates),
        status=FALSE,
        reason=POD_FAILED if phase == FAILED else POD_COMPLETED,
    )


def _update_condition(conditions: list[PodCondition], condition: PodCondition, now: int) -> None:
    put_condition(conditions, *with_transition_times((condition,), tuple(conditions), now))


def _with_foreign_fields(status: PodStatus, old: PodStatus) -> PodStatus:
    if _foreign_values(old) == _foreign_values(status):
        return status
    theirs = {name: getattr(old, name) for name in _FOREIGN_FIELDS if getattr(old, name) != getattr(status, name)}
    return status.changed(**theirs)


def can_be_deleted(pod: Pod, pod_is_finished: bool) -> bool:
    """Whether to delete the API object: deletion is requested, the phase is terminal, the kubelet has finished."""
    if pod.metadata.deletion_timestamp is None or is_mirror_pod(pod):
        return False
    return pod.status.phase in TERMINAL_PHASES and pod_is_finished


def with_container_readiness(
    pod: Pod, status: PodStatus, container_id: str, ready: bool, gates: FeatureGates = DEFAULT_GATES
) -> PodStatus | None:
    """The status after a readiness result; None if unchanged."""
    found = _find_container(status, container_id)
    if found is None or found[1].ready == ready:
        return None
    changed = _with_container(status, *found, found[1].changed(ready=ready))
    statuses = (*changed.init_container_statuses, *changed.container_statuses)
    containers_ready = generate_containers_ready_condition(pod, status, statuses, changed.phase, gates)
    conditions = list(changed.conditions)
    put_condition(conditions, generate_pod_ready_condition(pod, status, changed.conditions, containers_ready, gates))
    if gates.rules.containers_ready_condition:
        put_condition(conditions, containers_ready)
    return changed.changed(conditions=tuple(conditions))


def with_container_startup(status: PodStatus, container_id: str, started: bool) -> PodStatus | None:
    """The status after a startup result; None if unchanged."""
    found = _find_container(status, container_id)
    if found is None or found[1].started == started:
        return None
    return _with_container(status, *found, found[1].changed(started=started))


def _find_container(status: PodStatus, container_id: str) -> tuple[str, ContainerStatus] | None:
    if not container_id:
        return None  # a container that never ran has no id
    for field in ("container_statuses", "init_container_statuses"):
        for container in getattr(status, field):
            if container.container_id == container_id:
                return field, container
    return None


def _with_container(status: PodStatus, field: str, old: ContainerStatus, new: ContainerStatus) -> PodStatus:
    statuses = [new if container is old else container for container in getattr(status, field)]
    return status.changed(**{field: tuple(statuses)})
