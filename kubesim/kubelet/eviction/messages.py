"""Eviction messages: for the pod's status, its DisruptionTarget condition and the Evicted Event.

Mirrors: pkg/kubelet/eviction/helpers.go evictionMessage, getThresholdMetInfo
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import is_pod_level_resources_set
from kubesim.api.quantity import BINARY_SI, ZERO, Quantity, quantity
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import listed
from kubesim.kubelet.eviction import signals
from kubesim.kubelet.eviction.stats import ContainerUsage, Observations, PodUsage
from kubesim.kubelet.eviction.thresholds import Threshold

REASON = "Evicted"

Annotations = dict[str, str]


def node_condition_message(conditions: Iterable[str]) -> str:
    """The rejection message under node pressure."""
    return f"The node had condition: {listed(conditions)}. "


def eviction_message(
    resource: str,
    pod: Pod,
    usage: PodUsage | None,
    thresholds: Iterable[Threshold],
    observations: Observations,
    gates: FeatureGates = DEFAULT_GATES,
) -> tuple[str, Annotations]:
    """The message, and the Event's annotations: the starved resource, and containers above their requests."""
    message = f"The node was low on resource: {resource}. " + _threshold_message(resource, thresholds, observations)
    if usage is None:
        return message, {}
    annotations: Annotations = {}
    level = pod.spec.resources
    if resource == signals.MEMORY and gates.enabled("PodLevelResources") and is_pod_level_resources_set(pod):
        assert level is not None
        if resource in level.requests and usage.memory is not None:
            used = str(_bytes(usage.memory))
            message += _larger("Pod", pod.metadata.name, used, quantity(level.requests[resource]), resource)
            annotations.update(offending_pod=pod.metadata.name, offending_pod_usage=used)
    # Ephemeral containers cannot request resources, so they would exceed their requests every time.
    specs = {container.name: container for container in (*pod.spec.init_containers, *pod.spec.containers)}
    names, amounts = [], []
    for container in usage.containers:
        amount = _usage_of(container, resource)
        if container.name not in specs or amount is None:
            continue
        requests = specs[container.name].resources.requests
        request = quantity(requests[resource]) if resource in requests else ZERO
        if amount > request:
            message += _larger("Container", container.name, str(amount), request, resource)
            names.append(container.name)
            amounts.append(str(amount))
    annotations.update(
        offending_containers=",".join(names), offending_containers_usage=",".join(amounts), starved_resource=resource
    )
    return message, annotations


def _threshold_message(resource: str, thresholds: Iterable[Threshold], observations: Observations) -> str:
    for threshold in thresholds:
        observed = observations.get(threshold.signal)
        if signals.RESOURCE[threshold.signal] == resource and observed is not None:
            return f"Threshold quantity: {threshold.value.of(observed.capacity)}, available: {observed.available}. "
    return ""


def _larger(what: str, name: str, used: str, request: Quantity, resource: str) -> str:
    return f"{what} {name} was using {used}, request is {request}, has larger consumption of {resource}. "


def _usage_of(container: ContainerUsage, resource: str) -> Quantity | None:
    if resource == signals.MEMORY:
        return None if container.memory is None else _bytes(container.memory)
    if resource != signals.EPHEMERAL_STORAGE or container.rootfs is None or container.logs is None:
        return None
    if container.rootfs.used_bytes is None or container.logs.used_bytes is None:
        return None
    return _bytes(container.rootfs.used_bytes + container.logs.used_bytes)


def _bytes(number: int) -> Quantity:
    return Quantity(number, 0, BINARY_SI)
