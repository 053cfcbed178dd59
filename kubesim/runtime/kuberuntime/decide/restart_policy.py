"""Whether a container restarts: by restart rules, the container's policy, the pod's policy, in that order.

Used by compute_pod_actions, by status generation (for terminated containers) and by probes (for dead containers). It
ignores back-off, which only delays a restart.

Mirrors: pkg/api/v1/pod/util.go (IsRestartableInitContainer, IsContainerRestartable, ContainerShouldRestart,
FindMatchingContainerRestartRule, AllContainersCouldRestart), pkg/kubelet/container/helpers.go
(ShouldContainerBeRestarted, ShouldAllContainersRestart, AllContainersRestartCleanedUp).
"""

from __future__ import annotations

from kubesim.api.pod import Container, ContainerRestartRule, Pod, PodSpec, PodStatus
from kubesim.api.pods.sidecars import ALWAYS, init_and_regular_containers
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.types import RuntimePodStatus

ON_FAILURE = "OnFailure"
NEVER = "Never"

RESTART = "Restart"
RESTART_ALL_CONTAINERS = "RestartAllContainers"

ALL_CONTAINERS_RESTARTING = "AllContainersRestarting"


def find_matching_container_restart_rule(container: Container, exit_code: int) -> ContainerRestartRule | None:
    """The first rule that matches the exit code; an unknown operator matches nothing."""
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if codes is not None and codes.operator == ("In" if exit_code in codes.values else "NotIn"):
            return rule
    return None


def container_should_restart(
    container: Container, spec: PodSpec, exit_code: int, gates: FeatureGates = DEFAULT_GATES
) -> bool:
    """Whether a container that exited with this code starts again."""
    policy = container.restart_policy
    if policy is not None:
        if _rule_restarts(container, exit_code, gates):
            return True
        if policy in (ALWAYS, ON_FAILURE, NEVER):
            return _policy_restarts(policy, exit_code)
    return _policy_restarts(spec.restart_policy, exit_code)


def _rule_restarts(container: Container, exit_code: int, gates: FeatureGates) -> bool:
    rule = find_matching_container_restart_rule(container, exit_code)
    if rule is None:
        return False
    if rule.action == RESTART_ALL_CONTAINERS:
        return gates.enabled("RestartAllContainersOnContainerExits")
    return rule.action == RESTART


def _policy_restarts(policy: str, exit_code: int) -> bool:
    # A missing pod policy is Always: static pods can reach the kubelet without defaults.
    if policy == ON_FAILURE:
        return exit_code != 0
    return policy != NEVER


def runs_once(spec: PodSpec, gates: FeatureGates = DEFAULT_GATES) -> bool:
    """Whether no regular container ever restarts, whatever its exit code."""
    if spec.restart_policy != NEVER or not gates.enabled("ContainerRestartRules"):
        return spec.restart_policy == NEVER
    return not any(
        container.restart_policy not in (None, NEVER)
        or (container.restart_policy and any(rule.action == RESTART for rule in container.restart_policy_rules))
        for container in spec.containers
    )


def explain_restart(container: Container, pod: Pod, exit_code: int, gates: FeatureGates = DEFAULT_GATES) -> str:
    """The deciding rule or policy for this exit code as text: `restartPolicy is Never`."""
    if pod.metadata.deletion_timestamp is not None:
        return "the pod is being deleted"
    if container.restart_policy is not None and gates.enabled("ContainerRestartRules"):
        if _rule_restarts(container, exit_code, gates):
            rule = find_matching_container_restart_rule(container, exit_code)
            return f"a restart rule of its own says {rule.action if rule else RESTART}"
        if container.restart_policy in (ALWAYS, ON_FAILURE, NEVER):
            return f"its own restartPolicy is {container.restart_policy}"
    return f"restartPolicy is {pod.spec.restart_policy or ALWAYS}"


def should_container_be_restarted(
    container: Container, pod: Pod, status: RuntimePodStatus, gates: FeatureGates = DEFAULT_GATES
) -> bool:
    """Whether to start this container: never started, exited with a restart, or in unknown state."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    record = status.find(container.name)
    if record is None:
        return True
    if record.state == "running":
        return False
    if record.state != "exited":
        return True
    if gates.enabled("ContainerRestartRules"):
        return container_should_restart(container, pod.spec, record.exit_code, gates)
    return _policy_restarts(pod.spec.restart_policy, record.exit_code)


def all_containers_could_restart(spec: PodSpec) -> bool:
    """Whether any container has a rule that restarts the whole pod in place."""
    for container in spec.init_containers + spec.containers:
        for rule in container.restart_policy_rules:
            if rule.action == RESTART_ALL_CONTAINERS:
                return True
    return False


def restarts_all_containers(container: Container, exit_code: int) -> bool:
    """Whether an exit with this code restarts all containers of the pod."""
    rule = find_matching_container_restart_rule(container, exit_code)
    return rule is not None and rule.action == RESTART_ALL_CONTAINERS


def should_all_containers_restart(pod: Pod, status: RuntimePodStatus | None, pod_status: PodStatus | None) -> bool:
    """Whether all containers of the pod must be reset. A True condition stays True until the status clears it."""
    for condition in pod_status.conditions if pod_status is not None else ():
        if condition.type == ALL_CONTAINERS_RESTARTING and condition.status == "True":
            return True
    for container in init_and_regular_containers(pod.spec):
        if container.restart_policy_rules and _exit_restarts_all(container, status, pod_status):
            return True
    return False


def _exit_restarts_all(container: Container, status: RuntimePodStatus | None, pod_status: PodStatus | None) -> bool:
    if status is not None:
        record = status.find(container.name)
        if record is None or record.state != "exited":
            # As upstream, the API status is not used either: the loop continues with the next container.
            return False
        if restarts_all_containers(container, record.exit_code):
            return True
    known = (*pod_status.init_container_statuses, *pod_status.container_statuses) if pod_status is not None else ()
    terminated = None
    # As upstream, regular statuses overwrite init statuses of the same name, and later statuses earlier ones.
    for api_status in known:
        if api_status.name == container.name:
            terminated = api_status.state.terminated
    return terminated is not None and restarts_all_containers(container, terminated.exit_code)


def all_containers_restart_cleaned_up(pod: Pod, status: RuntimePodStatus) -> bool:
    """Whether the reset has removed all records of the pod's init and regular containers."""
    recorded = {record.name for record in status.containers}
    return recorded.isdisjoint([container.name for container in init_and_regular_containers(pod.spec)])
