"""The downward API: pod fields and resources of containers, as environment variables and files.

Mirrors: pkg/kubelet/kubelet_pods.go podFieldSelectorRuntimeValue, containerResourceRuntimeValue;
pkg/kubelet/kubelet_resources.go defaultPodLimitsForDownwardAPI; pkg/fieldpath; pkg/apis/core/pods/helpers.go
ConvertDownwardAPIFieldLabel; pkg/api/v1/resource/helpers.go ExtractContainerResourceValue,
ExtractResourceValueByContainerNameAndNodeAllocatable
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kubesim.api.pod import Container, Pod, ResourceList
from kubesim.api.pods.resources import HUGE_PAGES_PREFIX, is_supported_pod_level_resource
from kubesim.api.quantity import quantity
from kubesim.api.validation.formats import label_key
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.status.generate.pod_ips import sort_pod_ips
from kubesim.runtime.helper import ContainerConfigError

_DEFAULTED = ("cpu", "memory", "ephemeral-storage")  # hugepages are never overcommitted, so their limits are required
_LABELS = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip


def pod_field_value(selector: Mapping[str, Any], pod: Pod, pod_ips: tuple[str, ...], host_ips: tuple[str, ...]) -> str:
    """The value of a `fieldRef`. Addresses are current: the pod's status does not have them yet."""
    path = _field_label(selector.get("apiVersion") or "", selector.get("fieldPath") or "")
    match path:
        case "spec.nodeName":
            return pod.spec.node_name
        case "spec.serviceAccountName":
            return pod.spec.service_account_name
        case "status.hostIP":
            return host_ips[0] if host_ips else ""
        case "status.hostIPs":
            return ",".join(host_ips)
        case "status.podIP":
            return next(iter(sort_pod_ips(pod_ips) or pod_ips), "")
        case "status.podIPs":
            return ",".join(sort_pod_ips(pod_ips))
    return extract_field_path(pod, path)


def _field_label(version: str, label: str) -> str:
    if version != "v1":
        raise ContainerConfigError(f"unsupported pod version: {version}")
    subscripted = _split_subscript(label)
    if subscripted is not None:
        if subscripted[0] not in ("metadata.annotations", "metadata.labels"):
            raise ContainerConfigError(f"field label does not support subscript: {label}")
        return label
    if label == "spec.host":  # alias used by very old clients
        return "spec.nodeName"
    if label not in _LABELS:
        raise ContainerConfigError(f"field label not supported: {label}")
    return label


def _split_subscript(path: str) -> tuple[str, str] | None:
    """`metadata.labels['app']` -> `metadata.labels`, `app`; None for a path without a subscript."""
    head, bracket, key = path.removesuffix("']").partition("['")
    return (head, key) if path.endswith("']") and bracket and head else None


def extract_field_path(pod: Pod, path: str) -> str:
    """The value of a metadata field; volumes support only those."""
    metadata = pod.metadata
    subscripted = _split_subscript(path)
    if subscripted is not None:
        head, key = subscripted
        annotation = head == "metadata.annotations"
        problems = label_key(key.lower() if annotation else key)
        if problems:
            raise ContainerConfigError(f"invalid key subscript in {path}: {';'.join(problems)}")
        return (metadata.annotations if annotation else metadata.labels).get(key, "")
    match path:
        case "metadata.annotations":
            return _format_map(metadata.annotations)
        case "metadata.labels":
            return _format_map(metadata.labels)
        case "metadata.name":
            return metadata.name
        case "metadata.namespace":
            return metadata.namespace
        case "metadata.uid":
            return metadata.uid
    raise ContainerConfigError(f"unsupported fieldPath: {path}")


def _format_map(values: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={quoted(value)}" for key, value in sorted(values.items()))


def container_resource_value(
    selector: Mapping[str, Any],
    pod: Pod,
    container: Container,
    allocatable: ResourceList,
    gates: FeatureGates = DEFAULT_GATES,
) -> str:
    """The value of a `resourceFieldRef`. Default of a limit: the pod's limit, otherwise the node's allocatable."""
    name = selector.get("containerName") or ""
    subject = _find_container(pod, name) if name else container
    limits = subject.resources.limits
    if not name or subject in pod.spec.containers:  # an init container that is named explicitly gets no default
        limits = _with_default_limits(limits, _pod_or_node(pod, allocatable, gates))
    return _extract_resource_value(selector, limits, subject.resources.requests)


def resource_value_for_volume(selector: Mapping[str, Any], pod: Pod, allocatable: ResourceList) -> str:
    """The value in a volume, where the container is always named. Default of a limit: the node's allocatable."""
    resources = _find_container(pod, selector.get("containerName") or "").resources
    limits = _with_default_limits(resources.limits, allocatable)
    return _extract_resource_value(selector, limits, resources.requests)


def _extract_resource_value(selector: Mapping[str, Any], limits: ResourceList, requests: ResourceList) -> str:
    wanted = selector.get("resource") or ""
    kind, _, resource = wanted.partition(".")
    if kind not in ("limits", "requests") or not (resource in _DEFAULTED or resource.startswith(HUGE_PAGES_PREFIX)):
        raise ContainerConfigError(f"unsupported container resource : {wanted}")
    amount = quantity((limits if kind == "limits" else requests).get(resource, 0))
    divisor = quantity(selector.get("divisor") or 0)
    if divisor.is_zero:
        divisor = quantity("1")
    if resource == "cpu":
        return str(math.ceil(float(amount.milli_value()) / float(divisor.milli_value())))
    return str(math.ceil(float(amount.value()) / float(divisor.value())))


def _find_container(pod: Pod, name: str) -> Container:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        if container.name == name:
            return container
    raise ContainerConfigError(f"container {name} not found")


def _pod_or_node(pod: Pod, allocatable: ResourceList, gates: FeatureGates) -> ResourceList:
    if pod.spec.resources is None or not gates.enabled("PodLevelResources"):
        return allocatable
    own = {
        name: limit
        for name, limit in pod.spec.resources.limits.items()
        if name in _DEFAULTED
        and is_supported_pod_level_resource(name)
        and name in allocatable
        and not quantity(limit).is_zero
    }
    return allocatable | own


def _with_default_limits(limits: ResourceList, defaults: ResourceList) -> ResourceList:
    missing = {
        name: defaults[name] for name in _DEFAULTED if name in defaults and quantity(limits.get(name, 0)).is_zero
    }
    return limits | missing
