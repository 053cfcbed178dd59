"""Actions on init containers and sidecars: the next init container to start, and sidecars to restart.

The list is searched backwards: records of finished init containers may have been removed, so the last one with a record
shows the progress. The actions are reversed at the end, so that containers start in spec order.

Without the gate SidecarContainers they run one at a time, each after the previous one has succeeded.

Mirrors: kuberuntime_container.go computeInitContainerActions, findNextInitContainerToRun (v1.30),
HasAnyRegularContainerCreated, pruneInitContainersBeforeStart, purgeInitContainers; helpers.go isInitContainerFailed;
container/helpers.go HasAnyActiveRegularContainerStarted (v1.37).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.runtime.kuberuntime.container_hash import hash_container
from kubesim.runtime.kuberuntime.decide.action_types import Decision
from kubesim.runtime.kuberuntime.decide.resize_actions import compute_pod_resize_action, starting_resized_container
from kubesim.runtime.kuberuntime.decide.restart_policy import NEVER, explain_restart, should_container_be_restarted
from kubesim.runtime.kuberuntime.decide.termination import KillReason
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus


def has_any_regular_container_created(pod: Pod, status: RuntimePodStatus) -> bool:
    """Whether any regular container has a record that is not unknown: then the pod was initialized once."""
    for container in pod.spec.containers:
        record = status.find(container.name)
        if record is not None and record.state != "unknown":
            return True
    return False


def init_records(pod: Pod, status: RuntimePodStatus) -> list[ContainerRecord]:
    """All init containers of the pod, in spec order."""
    names = dict.fromkeys([container.name for container in pod.spec.init_containers])
    return [record for name in names for record in status.containers if record.name == name]


def superseded_init_records(pod: Pod, status: RuntimePodStatus) -> list[ContainerRecord]:
    """Dead init containers with a newer dead record; they can be removed."""
    if not pod.spec.init_containers or len(status.containers) < 2:
        return []
    names = [container.name for container in pod.spec.init_containers]
    seen: set[str] = set()
    superseded = []
    for record in status.containers:
        if record.state in ("exited", "unknown") and record.name in names:
            if record.name in seen:
                superseded.append(record)
            seen.add(record.name)
    return sorted(superseded, key=lambda record: names.index(record.name)) if superseded else superseded


def is_init_container_failed(record: ContainerRecord) -> bool:
    """Exit 0 with reason OOMKilled is a failure too: a child was killed, so the work may be incomplete."""
    if record.reason == "OOMKilled" or record.state == "unknown":
        return True
    return record.state == "exited" and record.exit_code != 0


def compute_init_container_actions(decision: Decision) -> bool:
    """Compute init container actions. True: the pod is initialized, continue with regular containers."""
    init_containers = decision.pod.spec.init_containers
    if not init_containers:
        return True
    actions = decision.actions
    if decision.gates.rules.old_sandbox_counts_as_initialized:
        walk = _Search(decision, init_containers, decision.newest, _is_any_regular_container_alive(decision))
    else:
        active = {record.name: record for record in reversed(decision.status.containers) if record.active}
        started = any(container.name in active for container in decision.pod.spec.containers)
        walk = _Search(decision, init_containers, active, started)
    for index in range(len(init_containers) - 1, -1, -1):
        walk.look_at(index)
        if actions.kill_pod:
            actions.init_containers_to_start.clear()
            return False
    if not walk.passed:
        actions.init_containers_to_start.append(init_containers[0])
        decision.why.append(f"no init container has run yet, so the first one, {init_containers[0].name}, is started")
    actions.init_containers_to_start.reverse()
    decision.kept.reverse()
    if not actions.update_pod_resources:
        actions.update_pod_resources = starting_resized_container(decision, actions.init_containers_to_start)
    return walk.initialized


def _is_any_regular_container_alive(decision: Decision) -> bool:
    # An exited regular container proves nothing: it may be from an earlier sandbox, before a reboot. So may a created
    # one that never started, but as upstream it counts.
    for container in decision.pod.spec.containers:
        record = decision.newest.get(container.name)
        if record is not None and record.state in ("created", "running"):
            return True
    return False


class _Search:
    """The state of the backward search. `passed`: everything before the current one is known to be initialized."""

    __slots__ = ("actions", "containers", "decision", "initialized", "passed", "records", "start", "why")

    def __init__(
        self,
        decision: Decision,
        containers: tuple[Container, ...],
        records: Mapping[str, ContainerRecord],
        initialized: bool,
    ) -> None:
        self.decision = decision
        self.containers = containers
        self.records = records
        self.initialized = self.passed = initialized
        self.actions = decision.actions
        self.start = decision.actions.init_containers_to_start.append
        self.why = decision.why.append

    def look_at(self, index: int) -> None:
        container = self.containers[index]
        is_sidecar = is_restartable_init_container(container)
        record = self.records.get(container.name)
        if record is None:
            if self.passed and is_sidecar:
                self.start(container)
                self.why(f"the runtime has no record of sidecar {container.name} any more, so it is started again")
            return
        if self.passed and not is_sidecar:
            return
        if record.state == "created":
            self.created(container)
        elif record.state == "running":
            (self.running_sidecar if is_sidecar else self.running)(index, container, record)
        elif record.state == "exited":
            (self.exited_sidecar if is_sidecar else self.exited)(index, container, record)
        else:
            self.unknown(container, record, is_sidecar)
        self.passed = True

    def created(self, container: Container) -> None:
        """Creating and starting are one step, so the start must have failed."""
        found = f"init container {container.name} was created but did not start"
        if self.decision.gates.rules.restarts_created_init_container:
            self.start(container)
            self.why(f"{found}, so it is started again")
        else:
            self.why(f"{found}, and the kubelet waits for it")

    def mark_initialized(self, index: int, because: str) -> None:
        """Mark one as initialized: the next one can start; after the last, the regular containers."""
        if index == len(self.containers) - 1:
            self.initialized = True
        elif not self.passed:
            following = self.containers[index + 1]
            self.start(following)
            self.why(f"{because}, so the next one, {following.name}, is started")

    def running(self, index: int, container: Container, record: ContainerRecord) -> None:
        if self.decision.gates.enabled("InPlacePodVerticalScalingInitContainers"):
            compute_pod_resize_action(self.decision, container, record, is_init=True)
        self.why(f"init container {container.name} is running, so the rest of the pod waits for it")

    def running_sidecar(self, index: int, container: Container, record: ContainerRecord) -> None:
        name = container.name
        if container.startup_probe is not None:
            startup = self.decision.startup.get(record.id)
            if startup == "failure":
                self.kill_and_start(container, record, "StartupProbe", f"Init container {name} failed startup probe")
                self.why(f"sidecar {name} failed its startup probe, so it is killed and started again")
                return
            if startup != "success":
                self.why(f"sidecar {name} has not passed its startup probe yet, so the kubelet waits for it")
                return
        self.mark_initialized(index, f"sidecar {name} is up")
        rules = self.decision.gates.rules
        if rules.restarts_changed_sidecar and record.hash != hash_container(container, rules):
            self.kill_and_start(container, record, "", f"Init container {name} definition changed")
            self.why(f"the image of sidecar {name} changed, so it is killed and started again")
            return
        if container.liveness_probe is not None:
            liveness = self.decision.liveness.get(record.id)
            if liveness is None:
                # Until the probe has a result, it is not even resized.
                self.decision.kept.append(name)
                return
            if liveness == "failure":
                self.kill_and_start(container, record, "LivenessProbe", f"Init container {name} failed liveness probe")
                self.why(f"sidecar {name} failed its liveness probe, so it is killed and started again")
                return
        if compute_pod_resize_action(self.decision, container, record, is_init=True) == "unchanged":
            self.decision.kept.append(name)

    def kill_and_start(self, container: Container, record: ContainerRecord, reason: KillReason, message: str) -> None:
        self.actions.kill(record, container, reason, message)
        self.start(container)

    def exited_sidecar(self, index: int, container: Container, record: ContainerRecord) -> None:
        self.start(container)
        self.why(f"sidecar {container.name} exited with {record.exit_code}, and a sidecar always starts again")

    def exited(self, index: int, container: Container, record: ContainerRecord) -> None:
        name = container.name
        if not is_init_container_failed(record):
            self.mark_initialized(index, f"init container {name} is done")
            return
        decision = self.decision
        if decision.gates.enabled("ContainerRestartRules"):
            restart = should_container_be_restarted(container, decision.pod, decision.status, decision.gates)
        else:
            restart = decision.pod.spec.restart_policy != NEVER
        failed = (
            f"init container {name} failed with {record.exit_code}{' (OOMKilled)' * (record.reason == 'OOMKilled')}"
        )
        because = explain_restart(container, decision.pod, record.exit_code, decision.gates)
        if restart:
            self.start(container)
        else:
            self.actions.kill_pod = True
        self.why(f"{failed} and {because}, so {'it is started again' if restart else 'the whole pod is stopped'}")

    def unknown(self, container: Container, record: ContainerRecord, is_sidecar: bool) -> None:
        spec = self.decision.pod.spec
        policy = spec.restart_policy
        # Restart rules need an exit code, which this container lacks: only the policies apply.
        if container.restart_policy is not None and (
            is_sidecar or self.decision.gates.enabled("ContainerRestartRules")
        ):
            policy = container.restart_policy
        if policy == NEVER:
            self.actions.kill_pod = True
            self.why(
                f"init container {container.name} is in unknown state and restartPolicy is Never, "
                "so the whole pod is stopped"
            )
            return
        message = 'Init container is in "unknown" state, try killing it before restart'
        self.kill_and_start(container, record, "Unknown", message)
        self.why(
            f"init container {container.name} is in unknown state and may still run, "
            "so it is killed before it is started again"
        )


class NextInit(NamedTuple):
    """The next init container to run, if any; `failed` is its record if it runs again."""

    done: bool
    container: Container | None = None
    failed: ContainerRecord | None = None
    why: str = ""


def find_next_init_container_to_run(decision: Decision) -> NextInit:
    """The next init container, from the newest record of each container."""
    spec, newest = decision.pod.spec, decision.newest
    if not spec.init_containers:
        return NextInit(True)
    regular = [newest.get(container.name) for container in spec.containers]
    is_running = any(record is not None and record.state == "running" for record in regular)
    if is_running and decision.gates.rules.running_shows_initialized:
        return NextInit(True)  # the init containers have finished, even if their records are gone
    backwards = [(each, record) for each in reversed(spec.init_containers) if (record := newest.get(each.name))]
    for container, record in backwards:
        if is_init_container_failed(record):
            return NextInit(False, container, record)
    for container, record in backwards:
        if record.state == "running":
            return NextInit(False, why=f"init container {container.name} is running, so the rest of the pod waits")
        if record.state == "exited":
            if container is spec.init_containers[-1]:
                return NextInit(True)
            following = spec.init_containers[spec.init_containers.index(container) + 1]
            return NextInit(False, following, why=f"init container {container.name} is done")
    return NextInit(False, spec.init_containers[0], why="no init container has run yet")


def failed_init_record(pod: Pod, status: RuntimePodStatus) -> ContainerRecord | None:
    """The record of the last init container that has one, if it failed (findActiveInitContainer of v1.6)."""
    for container in reversed(pod.spec.init_containers):
        record = status.find(container.name)
        if record is not None:
            return record if record.state == "exited" and record.exit_code != 0 else None
    return None


def compute_next_init_container(decision: Decision) -> bool:
    """Compute the next init container. True: the pod is initialized, continue with regular containers."""
    step = find_next_init_container_to_run(decision)
    container, failed = step.container, step.failed
    if container is None:
        if not step.done:
            decision.why.append(step.why)
        return step.done
    why = step.why if failed is None else _failure(container, failed)
    if failed is not None and decision.pod.spec.restart_policy == NEVER:
        decision.actions.kill_pod = True
        decision.why.append(f"{why} and restartPolicy is Never, so the whole pod is stopped")
        return False
    if failed is not None and failed.state == "unknown":
        message = 'Init container is in "unknown" state, try killing it before restart'
        decision.actions.kill(failed, container, "Unknown", message)
    decision.actions.init_containers_to_start = [container]
    decision.why.append(f"{why}, so {container.name} is started")
    return False


def _failure(container: Container, record: ContainerRecord) -> str:
    if record.state == "unknown":
        return f"init container {container.name} is in unknown state"
    return f"init container {container.name} failed with {record.exit_code}"
