"""Container statuses for the API, from the runtime's records, the previous status and start failures.

If the runtime has a record, the status comes from it. Otherwise the old status is kept, and an unrecorded exit is
inferred. A container that cannot start shows the reason. Ready and Started are set for regular containers first
(probe_overlay.py), for init containers later.

Mirrors: pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from kubesim.api.model import REMEMBERED_PODS
from kubesim.api.pod import (
    NO_STATE,
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
)
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import format_time
from kubesim.kubelet.status.containers.container_resources import canonical, container_status_resources
from kubesim.kubelet.status.containers.probe_overlay import started_and_ready
from kubesim.kubelet.status.containers.volume_mounts import volume_mount_statuses
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.kubelet.status.generate.reasons import (
    CONTAINER_CREATING,
    CONTAINER_STATUS_UNKNOWN,
    POD_INITIALIZING,
    RESTARTING_ALL_CONTAINERS,
)
from kubesim.runtime.kuberuntime.decide.init_actions import has_any_regular_container_created
from kubesim.runtime.kuberuntime.decide.restart_policy import should_container_be_restarted
from kubesim.runtime.types import ContainerRecord, ContainerUser, RuntimePodStatus

_WAITING_WITHOUT_REASON = ContainerState(waiting=ContainerStateWaiting())
_WAITING_TO_BE_CREATED = ContainerState(waiting=ContainerStateWaiting(reason=CONTAINER_CREATING))
_WAITING_FOR_INIT = ContainerState(waiting=ContainerStateWaiting(reason=POD_INITIALIZING))
_KILLED = 137
_CREATION_TIME = attrgetter("created_at")

_REMOVED_FOR_RESTART = "The container is removed because RestartAllContainers in place"
_WAITING_FOR_RESTART_OF_ALL = ContainerState(
    waiting=ContainerStateWaiting(reason=RESTARTING_ALL_CONTAINERS, message=_REMOVED_FOR_RESTART)
)
_TERMINATED_BY_RESTART_OF_ALL = ContainerStateTerminated(
    exit_code=_KILLED, reason=RESTARTING_ALL_CONTAINERS, message=_REMOVED_FOR_RESTART
)
_TERMINATED_OUT_OF_SIGHT = ContainerStateTerminated(
    exit_code=_KILLED,
    reason=CONTAINER_STATUS_UNKNOWN,
    message="The container could not be located when the pod was deleted.  The container used to be Running",
)
_COMPLETED_BY_INFERENCE = ContainerState(
    terminated=ContainerStateTerminated(
        exit_code=0,
        reason="Completed",
        message="Unable to get init container status from container runtime and pod has been initialized, "
        "treat it as exited normally",
    )
)


class _StateHistory(NamedTuple):
    """A container's current state, last state and restart count."""

    state: ContainerState
    last_state: ContainerState
    restart_count: int


def convert_to_api_container_statuses(
    kind: Literal["init", "regular", "ephemeral"],
    inputs: StatusInputs,
    containers: Sequence[Container],
    previous: Sequence[ContainerStatus],
    records: Mapping[str, Sequence[ContainerRecord]],
    pod_restarting: bool,
) -> tuple[ContainerStatus, ...]:
    """Statuses of one kind of container: init containers in spec order, others by name."""
    old_statuses = {status.name: status for status in previous}
    statuses: dict[str, ContainerStatus] = {}
    for container in containers:
        name = container.name
        old = old_statuses.get(name)
        seen = records.get(name)
        if seen:
            history = _history_from_records(seen, old, inputs, pod_restarting)
        else:
            history = _history_without_record(old, inputs, pod_restarting)
        if kind == "init":
            history = _history_of_init_container(container, history, inputs)
        elif name in inputs.reasons:
            history = _history_if_start_failed(container, history, inputs)
        if seen:
            statuses[name] = _status_from_record(container, seen[0], old, history, inputs, kind == "regular")
        else:
            statuses[name] = _status_without_record(container, old, history, inputs, kind == "regular")
    if kind == "init":
        return tuple([statuses[container.name] for container in containers])
    return tuple(map(statuses.__getitem__, sorted(statuses)))


def two_newest_records(runtime: RuntimePodStatus) -> dict[str, list[ContainerRecord]]:
    """The newest record of each name, and the one before it."""
    found: dict[str, list[ContainerRecord]] = {}
    for record in sorted(runtime.containers, key=_CREATION_TIME, reverse=True):
        seen = found.get(record.name)
        if seen is None:
            found[record.name] = [record]
        elif len(seen) < 2:
            seen.append(record)
    return found


def _history_from_records(
    records: Sequence[ContainerRecord], old: ContainerStatus | None, inputs: StatusInputs, pod_restarting: bool
) -> _StateHistory:
    record = records[0]
    state = _state_of_record(record, old, pod_restarting)
    last_state = _state_of_record(records[1], old, pod_restarting) if len(records) > 1 else NO_STATE
    restart_count = record.restart_count
    if old is not None:
        if inputs.gates.enabled("RestartAllContainersOnContainerExits"):
            # A restart of all containers removes the records; only the old status still has the last exit.
            if len(records) == 1:
                last_state = _last_end(old, record)
            restart_count = max(restart_count, old.restart_count)
            if record.state == "running" and old.state.terminated is not None:
                if old.restart_count >= record.restart_count:
                    restart_count = old.restart_count + 1
        if record.state == "unknown" and old.state.running is not None:
            # This exit is inferred: the runtime has no record of it.
            restart_count = old.restart_count + 1
    return _StateHistory(state, last_state, restart_count)


def _last_end(old: ContainerStatus, record: ContainerRecord) -> ContainerState:
    if old.container_id != record.id and old.state.terminated is not None:
        return _ended(old.state.terminated)
    return NO_STATE if old.last_state.terminated is None else _ended(old.last_state.terminated)


def _state_of_record(record: ContainerRecord, old: ContainerStatus | None, pod_restarting: bool) -> ContainerState:
    if record.state == "running":
        return _running_since(record.started_at)
    if record.state == "exited":
        return _exited(
            record.exit_code, record.reason, record.message, record.id, record.started_at, record.finished_at
        )
    if record.state == "unknown" and old is not None and old.state.running is not None:
        # The container ran and its record is gone: it has exited, and the restart count must include that run.
        return ContainerState(
            terminated=ContainerStateTerminated(
                exit_code=_KILLED,
                reason=RESTARTING_ALL_CONTAINERS if pod_restarting else CONTAINER_STATUS_UNKNOWN,
                message="The container could not be located when the pod was terminated",
            )
        )
    return _WAITING_WITHOUT_REASON


# Most syncs find most containers unchanged, so equal statuses share one object.


@lru_cache(maxsize=REMEMBERED_PODS)
def _running_since(started_at: int | None) -> ContainerState:
    if started_at is None:
        return ContainerState(running=ContainerStateRunning())
    return ContainerState(running=ContainerStateRunning(started_at=format_time(started_at)))


@lru_cache(maxsize=REMEMBERED_PODS)
def _exited(
    exit_code: int, reason: str, message: str, container_id: str, started_at: int | None, finished_at: int | None
) -> ContainerState:
    times: dict[str, Any] = {}
    if started_at is not None:
        times["started_at"] = format_time(started_at)
    if finished_at is not None:
        times["finished_at"] = format_time(finished_at)
    terminated = ContainerStateTerminated(
        exit_code=exit_code, reason=reason, message=message, container_id=container_id, **times
    )
    return ContainerState(terminated=terminated)


def _ended(terminated: ContainerStateTerminated) -> ContainerState:
    return ContainerState(terminated=terminated)


@lru_cache(maxsize=4096)
def _waiting_because(reason: str, message: str) -> ContainerState:
    return ContainerState(waiting=ContainerStateWaiting(reason=reason, message=message))


def _history_without_record(old: ContainerStatus | None, inputs: StatusInputs, pod_restarting: bool) -> _StateHistory:
    waiting = _WAITING_FOR_INIT if inputs.pod.spec.init_containers else _WAITING_TO_BE_CREATED
    if old is None:
        return _StateHistory(waiting, NO_STATE, 0)
    if pod_restarting and old.state.waiting is None:
        last_state = old.last_state.changed(terminated=_TERMINATED_BY_RESTART_OF_ALL)
        return _StateHistory(_WAITING_FOR_RESTART_OF_ALL, last_state, old.restart_count + 1)
    if old.state.terminated is not None:
        return _StateHistory(old.state, old.last_state, old.restart_count)
    if old.state.running is None or old.last_state.terminated is not None:
        return _StateHistory(waiting, old.last_state, old.restart_count)
    # It was running and its record is gone. A termination in lastState keeps the phase from returning to Pending.
    last_state = old.last_state.changed(terminated=_TERMINATED_OUT_OF_SIGHT)
    restarted = inputs.pod.metadata.deletion_timestamp is None
    return _StateHistory(waiting, last_state, old.restart_count + restarted)


def _history_of_init_container(container: Container, history: _StateHistory, inputs: StatusInputs) -> _StateHistory:
    record = inputs.runtime.find(container.name)
    if record is not None and record.state == "exited" and record.exit_code == 0:
        return history
    if (
        inputs.gates.rules.infers_finished_init_containers
        and record is None
        and history.state.waiting is not None
        and not is_restartable_init_container(container)
        and has_any_regular_container_created(inputs.pod, inputs.runtime)
    ):
        # Its record is gone and regular containers have started, so it must have completed.
        return history._replace(state=_COMPLETED_BY_INFERENCE)
    return _history_if_start_failed(container, history, inputs) if container.name in inputs.reasons else history


def _history_if_start_failed(container: Container, history: _StateHistory, inputs: StatusInputs) -> _StateHistory:
    """A container that should start but failed waits with the reason of the failure."""
    if not should_container_be_restarted(container, inputs.pod, inputs.runtime, inputs.gates):
        return history
    return _StateHistory(
        _waiting_because(*inputs.reasons[container.name]),
        history.state if history.state.terminated is not None else history.last_state,
        history.restart_count,
    )


def _status_from_record(
    container: Container,
    record: ContainerRecord,
    old: ContainerStatus | None,
    history: _StateHistory,
    inputs: StatusInputs,
    probed: bool,
) -> ContainerStatus:
    fields: dict[str, Any] = {}
    started, ready = None, False
    if old is not None:
        fields["volume_mounts"] = old.volume_mounts
        if record.state == "running" and not inputs.gates.enabled("ChangeContainerStatusOnKubeletRestart"):
            started = old.started
    if probed:
        running = history.state.running is not None
        started, ready = started_and_ready(inputs, container, record.id, started) if running else (False, False)
    if started is not None:
        fields["started"] = started
    if inputs.gates.enabled("InPlacePodVerticalScaling"):
        fields["resources"] = container_status_resources(container, record, old)
        if container.resources.requests:
            fields["allocated_resources"] = canonical(container.resources.requests)
    if record.stop_signal and inputs.gates.enabled("ContainerStopSignals"):
        fields["stop_signal"] = record.stop_signal
    if record.user is not None and inputs.gates.enabled("SupplementalGroupsPolicy"):
        fields["user"] = _user(record.user)
    return ContainerStatus(
        name=record.name,
        state=history.state,
        last_state=history.last_state,
        ready=ready,
        restart_count=history.restart_count,
        image=record.image,
        image_id=record.image_ref,
        container_id=record.id,
        **fields,
    )


def _user(user: ContainerUser) -> dict[str, Any]:
    groups = {"supplementalGroups": list(user.supplemental_groups)} if user.supplemental_groups else {}
    return {"linux": {"gid": user.gid, "uid": user.uid, **groups}}


def _status_without_record(
    container: Container, old: ContainerStatus | None, history: _StateHistory, inputs: StatusInputs, probed: bool
) -> ContainerStatus:
    if old is not None and old.state.terminated is not None:
        fields = {} if history == (old.state, old.last_state, old.restart_count) else history._asdict()
        if probed and old.started is not False:
            fields["started"] = False
        return old.changed(**fields) if fields else old
    fields = {"started": False} if probed else {}
    return ContainerStatus(
        name=container.name,
        state=history.state,
        last_state=history.last_state,
        ready=False,
        restart_count=history.restart_count,
        image=container.image,
        image_id="",
        volume_mounts=volume_mount_statuses(container, inputs.supports_recursive_read_only, inputs.gates),
        **fields,
    )
