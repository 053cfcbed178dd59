"""The health of a container's claimed devices in the pod status.

Mirrors: pkg/kubelet/cm/dra/manager.go UpdateAllocatedResourcesStatus, buildResourceHealth
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.api.pod import Container, ContainerStatus, Pod, PodStatus
from kubesim.api.workloads.resource_claims import ClaimReferenceError, base_request, claim_name
from kubesim.features import FeatureGates
from kubesim.kubelet.cm.dra.claim_info import ClaimInfo, ClaimInfoCache
from kubesim.kubelet.cm.dra.health_info import HealthInfoCache


def with_claim_health(
    pod: Pod, status: PodStatus, cache: ClaimInfoCache, health: HealthInfoCache, gates: FeatureGates
) -> PodStatus:
    """The status with an entry for each known claim of each regular container."""
    containers = {container.name: container for container in pod.spec.containers if container.resources.claims}
    if not containers:
        return status
    messages = gates.enabled("ResourceHealthStatusMessage")
    statuses = []
    for each in status.container_statuses:
        container = containers.get(each.name)
        if container is not None:
            each = _with_claims(pod, container, each, cache, health, messages)
        statuses.append(each)
    return status.changed(container_statuses=tuple(statuses))


def _with_claims(
    pod: Pod,
    container: Container,
    status: ContainerStatus,
    cache: ClaimInfoCache,
    health: HealthInfoCache,
    messages: bool,
) -> ContainerStatus:
    entries = {entry["name"]: entry for entry in status.allocated_resources_status}
    for claim in container.resources.claims:
        name, request = claim.get("name", ""), claim.get("request", "")
        info = cache.get(_claim_name(pod, name), pod.metadata.namespace)
        if info is None:
            continue
        shown = f"claim:{name}/{request}" if request else f"claim:{name}"
        devices: dict[str, dict[str, Any]] = {}
        for device in _devices(info, request, health, messages):
            devices.setdefault(device["resourceID"], device)
        entries[shown] = {"name": shown, "resources": list(devices.values())}
    found = tuple(entry for entry in entries.values() if entry.get("resources"))
    return status.changed(allocated_resources_status=found)


def _claim_name(pod: Pod, name: str) -> str:
    for claim_status in pod.status.resource_claim_statuses:
        if claim_status.get("name") == name and claim_status.get("resourceClaimName"):
            return str(claim_status["resourceClaimName"])
    for pod_claim in pod.spec.resource_claims:
        if pod_claim.get("name") == name:
            try:
                return claim_name(pod, pod_claim)[0] or ""
            except ClaimReferenceError:
                break
    return ""


def _devices(info: ClaimInfo, request: str, health: HealthInfoCache, messages: bool) -> Iterator[dict[str, Any]]:
    for driver, devices in info.drivers.items():
        for device in devices:
            if request and device.request_names and base_request(request) not in device.request_names:
                continue
            report = health.get(driver, device.pool_name, device.device_name)
            name = next(iter(device.cdi_device_ids), f"{driver}/{device.pool_name}/{device.device_name}")
            entry = {"resourceID": name, "health": report.health}
            yield entry | ({"message": report.message} if messages and report.message else {})
