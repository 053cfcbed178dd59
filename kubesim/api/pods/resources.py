"""The effective requests, limits and QoS class of a pod.

The resources of regular containers and sidecars are added up. An init container adds to the sidecars started before it,
and the largest such sum counts. Pod-level resources replace the sum, and overhead is added. For a running pod during a
resize, the larger of the requested and the actual resources counts (`use_status`).

Mirrors: component-helpers/resource/helpers.go PodRequests, PodLimits; pkg/apis/core/v1/helper/qos/qos.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from kubesim.api.pod import Container, ContainerStatus, Pod, ResourceList
from kubesim.api.quantity import ZERO, Quantity, quantity
from kubesim.features import DEFAULT_GATES, FeatureGates

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
HUGE_PAGES_PREFIX = "hugepages-"

GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"

Resources = dict[str, Quantity]
# Called with the resources of every regular container, and of each stage of initialization.
Observer = Callable[[Resources], None]
_Kind = Literal["requests", "limits"]


def quantities(resource_list: ResourceList) -> Resources:
    return {name: quantity(value) for name, value in resource_list.items()} if resource_list else {}


def pod_requests(
    pod: Pod,
    *,
    use_status: bool = False,
    use_pod_level_status: bool = False,
    skip_pod_level: bool = False,
    exclude_overhead: bool = False,
) -> Resources:
    """The effective requests of the pod; `use_status` takes a resize in progress into account."""
    requests = container_requests(pod, use_status=use_status)
    spec = pod.spec.resources
    if spec is not None and not skip_pod_level and is_pod_level_requests_set(pod):
        desired = quantities(spec.requests)
        if use_status and use_pod_level_status and (actuated := pod.status.resources) is not None:
            effective = _effective_requests(pod, spec.requests, actuated.requests, pod.status.allocated_resources)
            desired = {name: effective.get(name, ZERO) for name in desired}
        requests.update((name, amount) for name, amount in desired.items() if is_supported_pod_level_resource(name))
    if pod.spec.overhead and not exclude_overhead:
        _add(requests, quantities(pod.spec.overhead))
    return requests


def pod_limits(
    pod: Pod, *, skip_pod_level: bool = False, exclude_overhead: bool = False, observer: Observer | None = None
) -> Resources:
    """The effective limits of the pod; overhead is added only to resources with a limit."""
    limits = _aggregate(pod, "limits", observer=observer)
    spec = pod.spec.resources
    if spec is not None and not skip_pod_level:
        desired = quantities(spec.limits)
        limits.update((name, amount) for name, amount in desired.items() if is_supported_pod_level_resource(name))
    if pod.spec.overhead and not exclude_overhead:
        for name, amount in quantities(pod.spec.overhead).items():
            if name in limits and not limits[name].is_zero:
                limits[name] += amount
    return limits


def container_requests(pod: Pod, *, use_status: bool = False) -> Resources:
    """The effective requests of the containers, without pod-level resources."""
    return _aggregate(pod, "requests", use_status=use_status)


def asks_for_resources(pod: Pod) -> bool:
    """Whether the pod or one of its containers has requests or limits."""
    spec = pod.spec
    if spec.resources is not None:
        return True
    for container in spec.containers + spec.init_containers:
        if container.resources.requests or container.resources.limits:
            return True
    return False


def is_supported_pod_level_resource(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


def is_pod_level_requests_set(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(map(is_supported_pod_level_resource, resources.requests))


def is_pod_level_resources_set(pod: Pod) -> bool:
    resources = pod.spec.resources
    return is_pod_level_requests_set(pod) or (
        resources is not None and any(map(is_supported_pod_level_resource, resources.limits))
    )


def is_pod_resize_infeasible(pod: Pod) -> bool:
    """Whether the kubelet has reported that the desired resize can never fit on this node."""
    pending = next((c for c in pod.status.conditions if c.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _aggregate(pod: Pod, kind: _Kind, *, use_status: bool = False, observer: Observer | None = None) -> Resources:
    """The sum over the containers. `use_status` is only for requests."""
    statuses: dict[str, ContainerStatus] = {}
    if use_status:
        statuses = {s.name: s for s in (*pod.status.container_statuses, *pod.status.init_container_statuses)}
    total: Resources = {}
    for container in pod.spec.containers:
        amounts = _container_resources(pod, container, kind, statuses)
        if observer:
            observer(amounts)
        _add(total, amounts)
    if not pod.spec.init_containers:
        return total

    sidecars: Resources = {}
    largest: Resources = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            amounts = _container_resources(pod, container, kind, statuses)
            _add(total, amounts)
            _add(sidecars, amounts)
            moment = sidecars
        else:
            # An init container ends before the pod can be resized, so its status is not relevant.
            moment = _container_resources(pod, container, kind, {})
            _add(moment, sidecars)
        if observer:
            observer(moment)
        _raise(largest, moment)
    _raise(total, largest)
    return total


def _container_resources(
    pod: Pod, container: Container, kind: _Kind, statuses: Mapping[str, ContainerStatus]
) -> Resources:
    spec = container.resources
    status = statuses.get(container.name) if statuses else None
    if status is None or status.resources is None:
        return quantities(spec.requests if kind == "requests" else spec.limits)
    return _effective_requests(pod, spec.requests, status.resources.requests, status.allocated_resources)


def _effective_requests(pod: Pod, spec: ResourceList, actuated: ResourceList, allocated: ResourceList) -> Resources:
    amounts = quantities(actuated)
    if not is_pod_resize_infeasible(pod):
        _raise(amounts, quantities(spec))
    _raise(amounts, quantities(allocated))
    return amounts


def _add(total: Resources, amounts: Resources) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: Resources, amounts: Resources) -> None:
    """Raise every resource to the larger of the two amounts."""
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def pod_qos_class(pod: Pod, gates: FeatureGates = DEFAULT_GATES) -> str:
    """The class recorded in the status, which never changes, or else the computed one. Mirrors: GetPodQOS"""
    return pod.status.qos_class or compute_pod_qos(pod, gates)


def compute_pod_qos(pod: Pod, gates: FeatureGates = DEFAULT_GATES) -> str:
    """The QoS class. Guaranteed: cpu and memory have limits equal to the requests everywhere; BestEffort: there are
    none.
    """
    requests: Resources = {}
    limits: Resources = {}
    resources = pod.spec.resources
    if resources is not None and gates.enabled("PodLevelResources"):
        _add(requests, _qos_resources(resources.requests))
        _add(limits, _qos_resources(resources.limits))
        # Stays true if there are no limits at all; then the comparison below decides.
        guaranteed = not resources.limits or len(limits) == 2
    else:
        guaranteed = True
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            container_limits = _qos_resources(container.resources.limits)
            guaranteed = guaranteed and len(container_limits) == 2
            _add(requests, _qos_resources(container.resources.requests))
            _add(limits, container_limits)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if guaranteed and requests == limits else BURSTABLE


def _qos_resources(resource_list: ResourceList) -> Resources:
    """The resources that count for the QoS class: nonzero cpu and memory."""
    if not resource_list:
        return {}
    return {
        name: amount
        for name in (CPU, MEMORY)
        if name in resource_list and (amount := quantity(resource_list[name])).sign > 0
    }
