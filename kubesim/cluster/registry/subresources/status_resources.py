"""Validation of resources, users and image volumes in container statuses: claims, health, ids.

A part of `pod_status.py`. Mirrors: pkg/apis/core/validation validatePodResourceClaimStatuses,
validatePodExtendedResourceClaimStatus, validateNodeAllocatableResourceClaimStatus, validateContainerStatusUsers,
validateContainerStatusAllocatedResourcesStatus, validateVolumeStatus
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesim.api.quantity import quantity
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Named

HEALTH = ("Healthy", "Unhealthy", "Unknown")
MESSAGE_LIMIT = 1024
IMAGE_REF_LIMIT = 256

_NO_CLAIM = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
    "'claim:<claimName>' if request is empty"
)
_NO_CONTAINER = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
_NO_EXTENDED_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests"
)

Statuses = Iterable[JsonObject]


def validate_claim_statuses(errors: Errors, status: JsonObject, spec: JsonObject) -> None:
    _validate_resource_claims(errors, status.get("resourceClaimStatuses") or (), spec)
    _validate_extended_resource_claim(errors, status.get("extendedResourceClaimStatus"), spec)
    _validate_node_allocatable_claims(errors, status, spec)


def _validate_resource_claims(errors: Errors, statuses: Statuses, spec: JsonObject) -> None:
    names = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for n, status in enumerate(statuses):
        path, name = f"status.resourceClaimStatuses[{n}]", status.get("name", "")
        if name not in names:
            errors.invalid(f"{path}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            errors.duplicate(f"{path}.name", name)
        seen.add(name)
        claim = status.get("resourceClaimName")
        if claim is not None:
            errors.all_invalid(f"{path}.resourceClaimName", claim, formats.dns1123_subdomain(claim))


def _validate_extended_resource_claim(errors: Errors, status: JsonObject | None, spec: JsonObject) -> None:
    if status is None:
        return
    path = "status.extendedResourceClaimStatus"
    requests = {
        container.get("name", ""): (container.get("resources") or {}).get("requests") or {}
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    }
    mappings = status.get("requestMappings") or ()
    if not mappings:
        errors.required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, str, str]] = set()
    for n, mapping in enumerate(mappings):
        where = f"{path}.requestMappings[{n}]"
        container, resource, request = (mapping.get(f"{kind}Name", "") for kind in ("container", "resource", "request"))
        if container not in requests:
            errors.invalid(f"{where}.containerName", container, _NO_CONTAINER)
        elif resource not in requests[container]:
            errors.invalid(f"{where}.resourceName", resource, _NO_EXTENDED_RESOURCE)
        # Upstream's path of a request name does not name the mapping.
        errors.all_invalid(f"{path}.requestName", request, formats.dns1123_label(request))
        if (container, resource, request) in seen:
            for kind, name in (("container", container), ("resource", resource), ("request", request)):
                errors.duplicate(f"{where}.{kind}Name", name)
        seen.add((container, resource, request))
    claim = status.get("resourceClaimName", "")
    if not claim:
        errors.required(f"{path}.resourceClaimName")
    else:
        errors.all_invalid(f"{path}.resourceClaimName", claim, formats.dns1123_subdomain(claim))


def _validate_node_allocatable_claims(errors: Errors, status: JsonObject, spec: JsonObject) -> None:
    """Upstream iterates over a Go map in random order; here resources are sorted by name."""
    statuses = status.get("nodeAllocatableResourceClaimStatuses") or ()
    references = [*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ())]
    known = {reference.get("resourceClaimName") for reference in references} - {None}
    for n, claim in enumerate(statuses):
        path, name = f"status.nodeAllocatableResourceClaimStatuses[{n}]", claim.get("resourceClaimName", "")
        if not name:
            errors.required(f"{path}.resourceClaimName", "must not be empty")
        if name not in known:
            errors.invalid(f"{path}.resourceClaimName", name, "no mapping found in pod reference")
        for kind in ("containers", "resources"):
            if not claim.get(kind):
                errors.required(f"{path}.{kind}", "must not be empty")
        for resource, amount in sorted((claim.get("resources") or {}).items()):
            if "/" in resource and "kubernetes.io/" not in resource:
                detail = "must be a node allocatable resource name"
                errors.invalid(f"{path}.resources[{resource}]", Named(resource), detail)
            if quantity(amount).sign < 0:
                errors.invalid(f"{path}.resources[{resource}]", str(quantity(amount)), "must be non-negative")


def validate_container_users(errors: Errors, statuses: Statuses, path: str, spec: JsonObject) -> None:
    system = (spec.get("os") or {}).get("name", "linux")
    for n, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        where = f"{path}[{n}].user.linux"
        if user is None:
            continue
        if system == "windows":
            errors.forbidden(where, "cannot be set for a windows pod")
        elif system == "linux":
            for name, number in _ids(user):
                errors.all_invalid(f"{where}.{name}", number, formats.unix_id(number))


def _ids(user: JsonObject) -> Iterator[tuple[str, int]]:
    yield "uid", user.get("uid", 0)
    yield "gid", user.get("gid", 0)
    for n, group in enumerate(user.get("supplementalGroups") or ()):
        yield f"supplementalGroups[{n}]", group


def validate_no_allocated_resources(errors: Errors, statuses: Statuses, path: str) -> None:
    for n, status in enumerate(statuses):
        if status.get("allocatedResourcesStatus"):
            errors.forbidden(f"{path}[{n}].allocatedResourcesStatus", "must not be specified in container status")


def validate_allocated_resources(
    errors: Errors, statuses: Statuses, path: str, containers: Iterable[JsonObject]
) -> None:
    """Each allocated resource must be one of the container. Statuses of unknown containers are ignored."""
    for n, status in enumerate(statuses):
        allocated = status.get("allocatedResourcesStatus") or ()
        named = (container for container in containers if container.get("name", "") == status.get("name", ""))
        container = next(named, None) if allocated else None
        for m, resource in enumerate(allocated):
            where, name = f"{path}[{n}].allocatedResourcesStatus[{m}]", resource.get("name", "")
            is_claim = name.startswith("claim:")
            if container is not None and name not in _resource_names(container, claims=is_claim):
                detail = _NO_CLAIM if is_claim else "must match one of the container's resource requests"
                errors.invalid(f"{where}.name", Named(name), detail)
            _validate_health(errors, resource.get("resources") or (), f"{where}.resources")


def _resource_names(container: JsonObject, *, claims: bool) -> Iterable[str]:
    resources = container.get("resources") or {}
    if not claims:
        return resources.get("requests") or ()
    return [
        f"claim:{claim.get('name', '')}" + (f"/{claim['request']}" if claim.get("request") else "")
        for claim in resources.get("claims") or ()
    ]


def _validate_health(errors: Errors, resources: Statuses, path: str) -> None:
    seen: set[str] = set()
    for n, resource in enumerate(resources):
        where, identifier, message = f"{path}[{n}]", resource.get("resourceID", ""), resource.get("message")
        errors.unless_one_of(f"{where}.health", resource.get("health", ""), HEALTH)
        if message == "":
            errors.required(f"{where}.message", "must be non-empty if specified")
        elif message is not None and formats.size(message) > MESSAGE_LIMIT:
            errors.too_long(f"{where}.message", MESSAGE_LIMIT)
        if identifier in seen:
            errors.duplicate(f"{where}.resourceID", Named(identifier))
        seen.add(identifier)


def validate_image_volume_statuses(errors: Errors, statuses: Statuses, path: str) -> None:
    for n, status in enumerate(statuses):
        for m, mount in enumerate(status.get("volumeMounts") or ()):
            image = (mount.get("volumeStatus") or {}).get("image")
            if image is None:
                continue
            where = f"{path}[{n}].volumeMounts[{m}].volumeStatus.imageVolumeStatus.imageRef"
            reference = image.get("imageRef", "")
            if not reference:
                errors.required(where, "imageRef must not be empty")
            if formats.size(reference) > IMAGE_REF_LIMIT:
                errors.too_long(where, IMAGE_REF_LIMIT)
