"""compute_pod_actions: the actions on a pod's sandbox and containers that bring them to the pod's spec.

The core of a sync. It reads the pod, its runtime status and the latest probe results; SyncPod executes the actions. It
does not wait, and it ignores back-off.

Mirrors: kuberuntime_manager.go computePodActions, getContainersToReset; kuberuntime/util PodSandboxChanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kubesim.api.pod import Container, Pod, ResourceRequirements
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.kuberuntime.container_hash import hash_container, hashed_part, is_hash_of_other_kubelet
from kubesim.runtime.kuberuntime.decide.action_types import ContainerToReset, Decision, PodActions
from kubesim.runtime.kuberuntime.decide.init_actions import (
    compute_init_container_actions,
    compute_next_init_container,
    find_next_init_container_to_run,
    has_any_regular_container_created,
)
from kubesim.runtime.kuberuntime.decide.resize_actions import (
    compute_pod_level_resources_resize_action,
    compute_pod_resize_action,
    starting_resized_container,
)
from kubesim.runtime.kuberuntime.decide.restart_policy import (
    NEVER,
    ON_FAILURE,
    explain_restart,
    restarts_all_containers,
    should_container_be_restarted,
)
from kubesim.runtime.kuberuntime.decide.termination import KillReason
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.types import ContainerRecord, ProbeResult, RuntimePodStatus

__all__ = ["PodActions", "compute_pod_actions", "pod_sandbox_changed"]

_SIDECARS = "SidecarContainers"
_NO_RESULTS: Mapping[str, ProbeResult] = {}
_NO_RESOURCES: Mapping[str, ResourceRequirements] = {}


def compute_pod_actions(
    pod: Pod,
    status: RuntimePodStatus,
    *,
    liveness: Mapping[str, ProbeResult] = _NO_RESULTS,
    startup: Mapping[str, ProbeResult] = _NO_RESULTS,
    actuated: Mapping[str, ResourceRequirements] = _NO_RESOURCES,
    actuated_pod: ResourceRequirements | None = None,
    restart_all_containers: bool = False,
    refused: Collection[str] = (),
    gates: FeatureGates = DEFAULT_GATES,
) -> PodActions:
    """The actions of one sync. Probe results are by id; `actuated`, by name, are the last applied resources."""
    changed, attempt, sandbox_id, cause, _ = pod_sandbox_changed(pod, status)
    actions = PodActions(kill_pod=changed, create_sandbox=changed, sandbox_id=sandbox_id, attempt=attempt)
    newest = {record.name: record for record in reversed(status.containers)}
    decision = Decision(pod, status, liveness, startup, actuated, actuated_pod, gates, newest, actions, refused=refused)
    if restart_all_containers and gates.enabled("RestartAllContainersOnContainerExits"):
        _reset_all_containers(decision)
    elif changed:
        _start_over(decision, cause)
    else:
        _adjust(decision)
    actions.why = _sentences(decision)
    return actions


def _sentences(decision: Decision) -> tuple[str, ...]:
    kept = decision.kept
    if kept:
        fine = f"{_listed(kept)} {'is' if len(kept) == 1 else 'are'} running and unchanged"
        if not decision.why:
            return (f"nothing to do: {fine}",)
        decision.why.append(f"{fine}, so nothing happens to {'it' if len(kept) == 1 else 'them'}")
    return tuple(decision.why)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def pod_sandbox_changed(pod: Pod, status: RuntimePodStatus) -> tuple[bool, int, str, str, str]:
    """Whether a new sandbox is needed, with: the attempt (new or current), the sandbox id to keep, the reason, and the
    reason of a v1.37 kubelet.
    """
    if not status.sandboxes:
        return True, 0, "", "no sandbox exists yet", "no pod sandbox exists"
    newest = status.sandboxes[0]
    following = newest.attempt + 1
    if len(status.sandboxes) > 1 and (ready := sum(sandbox.ready for sandbox in status.sandboxes)) > 1:
        message = "multiple pod sandboxes are ready and need to be reconciled"
        return True, following, newest.id, f"{ready} sandboxes are ready, and there must be only one", message
    if not newest.ready:
        return True, following, newest.id, "the sandbox is no longer ready", "pod sandbox is not ready"
    wanted = "NODE" if pod.spec.host_network else "POD"
    if newest.network_namespace != wanted:
        # The id is not kept, so no Event reports the changed sandbox.
        cause = f"the sandbox is in the {newest.network_namespace} network and not in {wanted}"
        return True, following, "", cause, "network namespace mode changed and sandbox needs to be recreated"
    if not pod.spec.host_network and newest.network is not None and not newest.network.ip:
        return True, following, newest.id, "the sandbox has no IP address", "pod sandbox has no IP address"
    return False, newest.attempt, newest.id, "", ""


def _reset_all_containers(decision: Decision) -> None:
    """Remove every record; those whose exit caused it go last: a kubelet that restarts midway still sees why."""
    spec, records = decision.pod.spec, decision.status.containers
    init_sources, init_targets = _containers_to_reset(spec.init_containers, records)
    sources, targets = _containers_to_reset(spec.containers, records)
    decision.actions.containers_to_reset = targets + init_targets + sources + init_sources
    causes = list(dict.fromkeys(info.container.name for info in sources + init_sources))
    decision.why.append(
        f"a restart rule of {_listed(causes)} asks for RestartAllContainers, so all containers are stopped and removed"
        if causes
        else "all containers restart, so each one is stopped and removed"
    )


def _containers_to_reset(
    containers: Iterable[Container], records: Iterable[ContainerRecord]
) -> tuple[list[ContainerToReset], list[ContainerToReset]]:
    sources: list[ContainerToReset] = []
    targets: list[ContainerToReset] = []
    for container in containers:
        for record in records:
            if record.name != container.name:
                continue
            if record.state == "exited" and restarts_all_containers(container, record.exit_code):
                sources.append(ContainerToReset(record.id, container, kill=False))
            else:
                targets.append(ContainerToReset(record.id, container, kill=record.state != "exited"))
    return sources, targets


def _start_over(decision: Decision, cause: str) -> None:
    """A new sandbox: kill everything and start from the first init container."""
    pod, actions, why = decision.pod, decision.actions, decision.why
    makes_empty = decision.gates.rules.makes_empty_sandboxes
    if makes_empty and pod.spec.restart_policy == NEVER and actions.attempt != 0:
        why.append(f"{cause}, so a new one is created; restartPolicy is Never, so nothing is started in it now")
        return
    if pod.spec.restart_policy == NEVER and actions.attempt != 0 and decision.status.containers:
        actions.create_sandbox = False
        why.append(f"{cause}, but restartPolicy is Never and the pod has run, so it is stopped for good")
        return
    to_start = [container for container in pod.spec.containers if not _is_done(decision, container)]
    if not to_start and not makes_empty and _has_initialized(decision):
        actions.create_sandbox = False
        why.append(f"{cause}, but every container has succeeded and runs only once, so the pod is stopped for good")
        return
    why.append(f"{cause}, so one is created" if not decision.status.sandboxes else f"{cause}, so a new one is created")
    if pod.spec.init_containers and decision.gates.rules.repeats_initialization:
        first = pod.spec.init_containers[0]
        actions.init_containers_to_start = [first]
        why.append(f"initialization begins in the new sandbox, with {first.name}")
        return
    if pod.spec.init_containers:
        if not compute_next_init_container(decision):
            return
        why.append("initialization was completed in an earlier sandbox and is not repeated")
    actions.containers_to_start = to_start
    why += (f"container {container.name} starts in the new sandbox" for container in to_start)


def _has_initialized(decision: Decision) -> bool:
    if decision.gates.enabled(_SIDECARS):
        return has_any_regular_container_created(decision.pod, decision.status)
    return find_next_init_container_to_run(decision).done


def _is_done(decision: Decision, container: Container) -> bool:
    """Whether a run-once container (OnFailure) succeeded."""
    policy = decision.pod.spec.restart_policy
    if container.restart_policy is not None and decision.gates.enabled("ContainerRestartRules"):
        policy = container.restart_policy
    if policy != ON_FAILURE:
        return False
    record = decision.newest.get(container.name)
    return record is not None and record.state == "exited" and record.exit_code == 0


def _adjust(decision: Decision) -> None:
    """With a ready sandbox: bring the containers to the pod's spec."""
    spec, actions = decision.pod.spec, decision.actions
    for ephemeral in spec.ephemeral_containers:
        if ephemeral.name not in decision.newest:
            actions.ephemeral_containers_to_start.append(ephemeral)
            decision.why.append(f"ephemeral container {ephemeral.name} has not run yet, so it is started")
    compute_init = compute_init_container_actions if decision.gates.enabled(_SIDECARS) else compute_next_init_container
    if not compute_init(decision) or actions.kill_pod:
        return
    kept = False
    for container in spec.containers:
        record = decision.newest.get(container.name)
        if record is None or record.state != "running":
            _adjust_stopped(decision, container, record)
        elif _adjust_running(decision, container, record):
            kept = True
    if not kept and not actions.containers_to_start:
        actions.kill_pod = True
        over = "no regular container runs or will run, so the whole pod is stopped"
        # Sidecars alone do not keep a pod alive.
        decision.why.append(f"{over} and no sidecar is started again" if actions.init_containers_to_start else over)
        actions.init_containers_to_start = []
    actions.update_pod_level_resources = compute_pod_level_resources_resize_action(decision)
    if actions.update_pod_level_resources:
        decision.why.append("the resources of the pod itself changed, so its cgroup is resized")
    elif not actions.update_pod_resources:
        actions.update_pod_resources = starting_resized_container(decision, actions.containers_to_start)


def _adjust_stopped(decision: Decision, container: Container, record: ContainerRecord | None) -> None:
    actions, why, name = decision.actions, decision.why, container.name
    start = should_container_be_restarted(container, decision.pod, decision.status, decision.gates)
    if start:
        actions.containers_to_start.append(container)
    if decision.pod.metadata.deletion_timestamp is not None:
        why.append(f"container {name} does not run and the pod is being deleted, so it is not started")
    elif record is None:
        why.append(f"container {name} has not run yet, so it is started")
    elif record.state == "exited":
        because = explain_restart(container, decision.pod, record.exit_code, decision.gates)
        outcome = "is started again" if start else "stays stopped"
        why.append(f"container {name} exited with {record.exit_code} and {because}, so it {outcome}")
    elif record.state == "created":
        why.append(f"container {name} was created but did not start, so it is started again")
    else:
        # It may still run, and two instances of a container must never run concurrently.
        actions.kill(record, container, "Unknown", 'Container is in "unknown" state, try killing it before restart')
        why.append(
            f"container {name} is in unknown state and may still run, so it is killed before it is started again"
        )


def _adjust_running(decision: Decision, container: Container, record: ContainerRecord) -> bool:
    """Decide about a running container; true: it continues."""
    name, restart = container.name, True
    reason: KillReason = ""
    rules = decision.gates.rules
    hashed = hashed_part(container, decision.gates) if rules.hashes_whole_container else container
    if record.hash != (wanted := hash_container(hashed, rules)):
        # Regardless of restart policy: the running container does not match the spec.
        what = "definition" if rules.hashes_whole_container else "image"
        probe, text, because = "", rules.changed_message, f"the {what} of container {name} changed"
        if is_hash_of_other_kubelet(container, record.hash):
            because = f"the hash of container {name} is that of another version of the kubelet"
    elif decision.liveness.get(record.id) == "failure":
        probe, reason = "liveness", "LivenessProbe"
    elif decision.startup.get(record.id) == "failure":
        probe, reason = "startup", "StartupProbe"
    else:
        resize = compute_pod_resize_action(decision, container, record)
        if resize == "unchanged":
            decision.kept.append(name)
        return resize != "restarted"
    if probe:
        because, restart = f"container {name} failed its {probe} probe", _restarts_after_kill(decision, container)
        text = rules.unhealthy_message if restart else rules.unhealthy_for_good_message
    if restart:
        decision.actions.containers_to_start.append(container)
    shown = {"name": name, "pod": format_pod(decision.pod), "probe": probe, "old": record.hash, "new": wanted}
    decision.actions.kill(record, container, reason, text.format(**shown))
    outcome = "killed and started again" if restart else "killed and, with restartPolicy Never, stays down"
    decision.why.append(f"{because}, so it is {outcome}")
    return False


def _restarts_after_kill(decision: Decision, container: Container) -> bool:
    # Restart rules need an exit code, which a running container lacks: only the policies apply.
    if container.restart_policy is not None and decision.gates.enabled("ContainerRestartRules"):
        return container.restart_policy != NEVER
    return decision.pod.spec.restart_policy != NEVER
