"""The runtime status behind an observed status: the input of the kubelet's own decisions.

With it `compute_pod_actions` computes the kubelet's next actions for a pod of a real kubelet. Only the newest attempt
of each container is known. Hashes are assumed to be those of the spec, because a status does not contain them.
"""

from __future__ import annotations

from kubesim.api.pod import ContainerStateTerminated
from kubesim.api.pods.pod_conditions import POD_READY_TO_START_CONTAINERS, TRUE
from kubesim.attach.explain.observation import ContainerView, Observation, event_time, moment
from kubesim.kubelet.status.generate.reasons import CONTAINER_CREATING, POD_INITIALIZING
from kubesim.runtime.kuberuntime.container_hash import hash_container
from kubesim.runtime.kuberuntime.decide.actions import PodActions, compute_pod_actions
from kubesim.runtime.kuberuntime.decide.restart_policy import ALL_CONTAINERS_RESTARTING
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, SandboxNetwork, SandboxRecord

_SANDBOX = "observed"
_BEFORE_SANDBOX = ("", CONTAINER_CREATING, POD_INITIALIZING)
_CONTAINER_EVENTS = ("Pulling", "Pulled", "Created", "Started", "Failed", "BackOff")
_SANDBOX_PROBLEMS = ("FailedCreatePodSandBox", "FailedMount", "FailedAttachVolume", "NetworkNotReady", "SandboxChanged")


def newest_end(view: ContainerView) -> ContainerStateTerminated | None:
    """The terminated state of the newest attempt; None if it is running, or if there was none."""
    state = view.status.state
    if state.terminated is not None:
        return state.terminated
    return view.status.last_state.terminated if state.running is None else None


def has_sandbox(seen: Observation) -> bool:
    condition = seen.condition(POD_READY_TO_START_CONTAINERS)
    if condition is not None:
        return condition.status == TRUE
    # Kubelets before v1.29 have no such condition. A container's status or Event shows that there was a sandbox.
    views = list(seen.containers())
    return (
        bool(seen.pod.status.pod_ip)
        or any(view.status.state.running is not None for view in views)
        or any(view.waiting_reason not in _BEFORE_SANDBOX for view in views)
        or _container_came_after_sandbox(seen)
    )


def sandbox_changed(seen: Observation, since: int) -> bool:
    """Whether the sandbox of that time is gone. In the next sandbox everything starts from the beginning, after the
    containers of the old one were stopped within their grace period: init containers run again, and their old records
    are removed."""
    condition = seen.condition(POD_READY_TO_START_CONTAINERS)
    if condition is not None:
        at = moment(condition.last_transition_time)
        if condition.status != TRUE or (at is not None and at > since):
            return True
    return any(event_time(event) >= since for event in seen.events_of("SandboxChanged"))


def _container_came_after_sandbox(seen: Observation) -> bool:
    """Whether the newest Event about a container is newer than all Events about sandbox failures."""
    about = [event_time(e) for e in seen.events_of(*_CONTAINER_EVENTS) if "{" in e.involved_object.field_path]
    problem = [event_time(event) for event in seen.events_of(*_SANDBOX_PROBLEMS)]
    return bool(about) and max(about) > max(problem, default=0)


def runtime_status(seen: Observation) -> RuntimePodStatus:
    """The status that the runtime would report for this pod."""
    pod = seen.pod
    records = tuple(record for view in seen.containers() if (record := _record(view)) is not None)
    ready = has_sandbox(seen)
    sandboxes: tuple[SandboxRecord, ...] = ()
    if ready or records:
        network = "NODE" if pod.spec.host_network else "POD"
        sandboxes = (
            SandboxRecord(
                _SANDBOX,
                ready=ready,
                network_namespace="NODE" if network == "NODE" else "POD",
                network=SandboxNetwork(pod.status.pod_ip) if pod.status.pod_ip else None,
            ),
        )
    return RuntimePodStatus(
        uid=pod.metadata.uid,
        name=pod.metadata.name,
        namespace=pod.metadata.namespace,
        ips=tuple(ip.ip for ip in pod.status.pod_ips),
        sandboxes=sandboxes,
        containers=records,
    )


def next_actions(seen: Observation) -> PodActions:
    """The actions of the kubelet's next sync of this pod, from the function that decides in a simulated run."""
    restarting = seen.condition(ALL_CONTAINERS_RESTARTING)
    return compute_pod_actions(
        seen.pod,
        runtime_status(seen),
        restart_all_containers=restarting is not None and restarting.status == TRUE,
        gates=seen.gates,
    )


def _record(view: ContainerView) -> ContainerRecord | None:
    status = view.status
    hashed = hash_container(view.spec)
    running = status.state.running
    if running is not None:
        return ContainerRecord(
            status.container_id or view.name,
            view.name,
            "running",
            hash=hashed,
            restart_count=status.restart_count,
            started_at=moment(running.started_at),
        )
    ended = newest_end(view)
    if ended is None:
        return None
    return ContainerRecord(
        ended.container_id or status.container_id or view.name,
        view.name,
        "exited",
        hash=hashed,
        restart_count=status.restart_count,
        started_at=moment(ended.started_at),
        finished_at=moment(ended.finished_at),
        exit_code=ended.exit_code,
        reason=ended.reason,
    )
