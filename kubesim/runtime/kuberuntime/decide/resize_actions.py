"""Resize actions: changed resources of a running pod are applied in place, or by a restart if the resize policy
requires it.

Compares the pod's resources with those that the kubelet last applied ("actuated"). A container without actuated
resources counts as having none, which at worst repeats an update.

Mirrors: kuberuntime_manager.go computePodResizeAction, computePodLevelResourcesResizeAction, startingResizedContainer,
containerResourcesFromRequirements; pkg/kubelet/util GetLimits.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from kubesim.api.pod import Container, ResourceRequirements
from kubesim.api.quantity import quantity
from kubesim.runtime.kuberuntime.decide.action_types import (
    ContainerResources,
    ContainerToUpdate,
    Decision,
    ResizableResource,
)
from kubesim.runtime.types import ContainerRecord

ResizeOutcome = Literal["unchanged", "updated", "restarted"]

_NOTHING = ResourceRequirements()
_POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"


def compute_pod_resize_action(
    decision: Decision, container: Container, record: ContainerRecord, *, is_init: bool = False
) -> ResizeOutcome:
    """Decide about one running container and add the actions."""
    if not decision.gates.enabled("InPlacePodVerticalScaling") or _is_as_written(decision, container):
        return "unchanged"
    desired, current = _desired_and_current(decision, container)
    if desired == current or container.name in decision.refused:
        return "unchanged"
    if _needs_restart(container, desired, current):
        _restart(decision, container, record, is_init)
        return "restarted"
    # The change of the limit determines the order; that of the request only if the limit is unchanged.
    update = ContainerToUpdate(container, record.id, desired, current)
    memory = desired.memory_limit - current.memory_limit or desired.memory_request - current.memory_request
    cpu = desired.cpu_limit_milli - current.cpu_limit_milli or desired.cpu_request_milli - current.cpu_request_milli
    _plan_update(decision, "memory", update, memory)
    _plan_update(decision, "cpu", update, cpu)
    return "updated"


def compute_pod_level_resources_resize_action(decision: Decision) -> bool:
    """Whether pod-level resources differ from the actuated ones."""
    desired, actuated = decision.pod.spec.resources, decision.actuated_pod
    if (desired is None and actuated is None) or not decision.gates.enabled(_POD_LEVEL):
        return False
    return _pod_resources(desired) != _pod_resources(actuated)


def starting_resized_container(decision: Decision, starting: Iterable[Container]) -> bool:
    """Whether a container to start has other resources than the actuated ones."""
    for container in starting:
        if not _is_as_written(decision, container) and container.name not in decision.refused:
            desired, actuated = _desired_and_current(decision, container)
            if desired != actuated:
                return True
    return False


def container_resources(
    requirements: ResourceRequirements, pod_requirements: ResourceRequirements | None
) -> ContainerResources:
    """A container's resources as numbers. The pod's limit is the default of its limit."""
    limits, requests = requirements.limits, requirements.requests
    memory_limit, cpu_limit = _amount(limits.get("memory")), _milli(limits.get("cpu"))
    if pod_requirements is not None:
        memory_limit = memory_limit or _amount(pod_requirements.limits.get("memory"))
        cpu_limit = cpu_limit or _milli(pod_requirements.limits.get("cpu"))
    return ContainerResources(memory_limit, _amount(requests.get("memory")), cpu_limit, _milli(requests.get("cpu")))


def _is_as_written(decision: Decision, container: Container) -> bool:
    """Fast path without parsing: whether both sides have the same text."""
    actuated = decision.actuated.get(container.name, _NOTHING)
    asked = container.resources
    if asked is not actuated and (asked.limits != actuated.limits or asked.requests != actuated.requests):
        return False
    pod_resources, actuated_pod = decision.pod.spec.resources, decision.actuated_pod
    if pod_resources is None and actuated_pod is None:
        return True
    return (pod_resources or _NOTHING).limits == (actuated_pod or _NOTHING).limits


def _desired_and_current(decision: Decision, container: Container) -> tuple[ContainerResources, ContainerResources]:
    actuated = decision.actuated.get(container.name, _NOTHING)
    pod_resources, actuated_pod = decision.pod.spec.resources, decision.actuated_pod
    if not decision.gates.enabled(_POD_LEVEL):
        pod_resources = actuated_pod = None
    return container_resources(container.resources, pod_resources), container_resources(actuated, actuated_pod)


def _pod_resources(requirements: ResourceRequirements | None) -> ContainerResources:
    return container_resources(requirements or _NOTHING, None)


@lru_cache(maxsize=4096, typed=True)
def _amount(value: str | int | float | None) -> int:
    return 0 if value is None else quantity(value).value()


@lru_cache(maxsize=4096, typed=True)
def _milli(value: str | int | float | None) -> int:
    return 0 if value is None else quantity(value).milli_value()


def _needs_restart(container: Container, desired: ContainerResources, current: ContainerResources) -> bool:
    changed: set[str] = set()
    if desired.memory_limit != current.memory_limit or desired.memory_request != current.memory_request:
        changed.add("memory")
    if desired.cpu_limit_milli != current.cpu_limit_milli or desired.cpu_request_milli != current.cpu_request_milli:
        changed.add("cpu")
    for policy in container.resize_policy:
        if policy.resource_name in changed:
            if policy.restart_policy == "RestartContainer":
                return True
            changed.discard(policy.resource_name)  # the first policy of a resource counts
    return False


def _restart(decision: Decision, container: Container, record: ContainerRecord, is_init: bool) -> None:
    actions = decision.actions
    actions.kill(record, container, "", f"Container {container.name} resize requires restart")
    (actions.init_containers_to_start if is_init else actions.containers_to_start).append(container)
    actions.update_pod_resources = True
    decision.why.append(
        f"the resources of container {container.name} changed and its resizePolicy says RestartContainer, "
        "so it is killed and started again"
    )


def _plan_update(decision: Decision, resource: ResizableResource, update: ContainerToUpdate, change: int) -> None:
    """Decreases precede increases, so that the sum of the containers never exceeds the pod."""
    if change == 0:
        return
    updates = decision.actions.containers_to_update.setdefault(resource, [])
    if change > 0:
        updates.append(update)
    else:
        updates.insert(0, update)
    decision.why.append(
        f"the {resource} of container {update.container.name} goes {'up' if change > 0 else 'down'}, "
        "so it is changed while it runs"
    )
