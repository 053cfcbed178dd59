"""Requests, limits, resource claims, and pod-level resources as bounds for the containers.

Mirrors: pkg/apis/core/validation validateResourceRequirements, validatePodResources, validatePodResourceClaims
"""

from __future__ import annotations

from collections.abc import Callable, Set

from kubesim.api.names import is_extended_resource_name
from kubesim.api.pods.defaults import resources_pod
from kubesim.api.pods.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES_PREFIX,
    MEMORY,
    container_requests,
    is_supported_pod_level_resource,
    pod_limits,
)
from kubesim.api.quantity import Quantity, parse_quantity, quantity
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Named, Raw
from kubesim.api.validation.structs import pod_resource_claim_json

_CONTAINER_RESOURCES = {CPU, MEMORY, EPHEMERAL_STORAGE}
_COUNTED_OBJECTS = {
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
}
_STANDARD_RESOURCES = (
    _CONTAINER_RESOURCES
    | _COUNTED_OBJECTS
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER_RESOURCES}
    | {"storage", "requests.storage"}
)
_QUOTA_HUGE_PAGES = (HUGE_PAGES_PREFIX, f"requests.{HUGE_PAGES_PREFIX}")
_POD_LEVEL = ("cpu", "hugepages-", "memory")

NameRule = Callable[[Errors, str, str], None]


def is_native_resource(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_overcommit_allowed(name: str) -> bool:
    return is_native_resource(name) and not name.startswith(HUGE_PAGES_PREFIX)


def is_standard_quota_resource(name: str) -> bool:
    """Whether a quota can limit this resource of Kubernetes itself."""
    return (name in _STANDARD_RESOURCES and name != "storage") or name.startswith(_QUOTA_HUGE_PAGES)


def is_integer_resource_name(name: str) -> bool:
    return name in _COUNTED_OBJECTS or is_extended_resource_name(name)


def validate_resource_name(errors: Errors, name: str, path: str) -> None:
    complaints = formats.label_key(name)
    errors.all_invalid(path, Named(name), complaints)
    if complaints or "/" in name:
        return
    if name not in _STANDARD_RESOURCES and not name.startswith(_QUOTA_HUGE_PAGES):
        errors.invalid(path, Named(name), "must be a standard resource type or fully qualified")


def validate_container_resource_name(errors: Errors, name: str, path: str) -> None:
    validate_resource_name(errors, name, path)
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES_PREFIX):
            errors.invalid(path, Named(name), "must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource_name(name):
        errors.invalid(path, Named(name), "doesn't follow extended resource name standard")


def _validate_pod_resource_name(errors: Errors, name: str, path: str) -> None:
    found = Errors()
    validate_resource_name(found, name, path)
    if not found and not is_supported_pod_level_resource(name):
        found.unsupported(path, name, _POD_LEVEL)
    errors.extend(found)


def validate_quantity(errors: Errors, name: str, amount: Quantity, path: str) -> None:
    if amount.sign < 0:
        errors.invalid(path, str(amount), "must be greater than or equal to 0")
    if is_integer_resource_name(name) and amount.milli_value() % 1000:
        errors.invalid(path, Named(str(amount)), "must be an integer")


def _validate_huge_page_value(errors: Errors, name: str, amount: Quantity, path: str) -> None:
    if name.startswith(HUGE_PAGES_PREFIX) and not _is_divisible(name, amount):
        errors.invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")


def _is_divisible(name: str, amount: Quantity) -> bool:
    try:
        page = parse_quantity(name.removeprefix(HUGE_PAGES_PREFIX))
    except ValueError:
        return False
    if page.sign <= 0 or page.milli_value() % 1000:
        return False
    return amount.value() % page.value() == 0


def validate_resource_requirements(
    errors: Errors,
    requirements: JsonObject,
    claim_names: Set[str],
    path: str,
    name_rule: NameRule = validate_container_resource_name,
) -> None:
    limits = {name: quantity(value) for name, value in (requirements.get("limits") or {}).items()}
    requests = {name: quantity(value) for name, value in (requirements.get("requests") or {}).items()}
    for name, amount in limits.items():
        where = f"{path}.limits[{name}]"
        name_rule(errors, name, where)
        validate_quantity(errors, name, amount, where)
        _validate_huge_page_value(errors, name, amount, where)
    for name, amount in requests.items():
        where = f"{path}.requests[{name}]"
        name_rule(errors, name, where)
        validate_quantity(errors, name, amount, where)
        _validate_request_against_limit(errors, name, amount, limits.get(name), path)
        _validate_huge_page_value(errors, name, amount, where)
    named = limits.keys() | requests.keys()
    if any(name.startswith(HUGE_PAGES_PREFIX) for name in named) and not named & {CPU, MEMORY}:
        errors.forbidden(path, "HugePages require cpu or memory")
    _validate_claim_references(errors, requirements.get("claims") or [], claim_names, f"{path}.claims")


def _validate_request_against_limit(
    errors: Errors, name: str, amount: Quantity, limit: Quantity | None, path: str
) -> None:
    where, overcommit = f"{path}.requests", is_overcommit_allowed(name)
    if limit is None:
        if not overcommit:
            errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif amount != limit and not overcommit:
        errors.invalid(where, str(amount), f"must be equal to {name} limit of {limit}")
    elif amount > limit:
        errors.invalid(where, str(amount), f"must be less than or equal to {name} limit of {limit}")


def _validate_claim_references(errors: Errors, claims: list[JsonObject], known: Set[str], path: str) -> None:
    seen: set[str] = set()
    for n, claim in enumerate(claims):
        where, name, request = f"{path}[{n}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.required(where)
            continue
        if name in seen:
            errors.duplicate(where, name)
        else:
            key = f"{name}/{request}" if request else name
            if request:
                errors.all_invalid(f"{where}.request", request, formats.dns1123_label(request))
            if key in seen:
                errors.duplicate(where, key)
            elif not request:
                # The whole claim is listed after some of its requests.
                for other in seen:
                    if other.partition("/")[0] == name:
                        errors.duplicate(where, name)
            seen.add(key)
        if name not in known:
            names = f": {', '.join(sorted(known))}" if known else " which is empty"
            errors.not_found(where, name, f"must be one of the names in pod.spec.resourceClaims{names}")


def validate_pod_resource_claims(errors: Errors, claims: list[JsonObject], path: str, *, mirror: bool) -> None:
    seen: set[str] = set()
    for n, claim in enumerate(claims):
        if mirror:
            # The path of this error is empty upstream, which prints as an index without a number.
            errors.forbidden("[]", "static pods do not support resource claims")
        else:
            _validate_pod_resource_claim(errors, claim, seen, f"{path}[{n}]")


def _validate_pod_resource_claim(errors: Errors, claim: JsonObject, seen: set[str], path: str) -> None:
    name = claim.get("name", "")
    if not name:
        errors.required(f"{path}.name")
    elif name in seen:
        errors.duplicate(f"{path}.name", name)
    else:
        errors.all_invalid(f"{path}.name", name, formats.dns1123_label(name))
        seen.add(name)
    given = [kind for kind in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(kind) is not None]
    if len(given) == 2:
        detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.invalid(path, Raw(pod_resource_claim_json(claim)), detail)
    if not given:
        detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.invalid(path, Raw(pod_resource_claim_json(claim)), detail)
    for kind in given:
        errors.all_invalid(f"{path}.{kind}", claim[kind], formats.dns1123_subdomain(claim[kind]))


def validate_pod_resources(errors: Errors, spec: JsonObject, claim_names: Set[str], path: str) -> None:
    """Validate `spec.resources`: cpu, memory and huge pages of the whole pod."""
    resources = spec.get("resources")
    if resources is None:
        return
    where = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        errors.forbidden(where, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        errors.forbidden(f"{where}.claims", "claims may not be set for Resources at pod-level")
    validate_resource_requirements(errors, resources, claim_names, where, _validate_pod_resource_name)
    _validate_pod_resource_consistency(errors, spec, resources, where)


def _validate_pod_resource_consistency(errors: Errors, spec: JsonObject, resources: JsonObject, path: str) -> None:
    """Check that the containers' total requests do not exceed the pod's, and that no container's limit exceeds the
    pod's.
    """
    pod = resources_pod(spec)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in container_requests(pod).items():
        if name in requests and amount > quantity(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {amount}"
            errors.invalid(f"{path}.requests[{name}]", str(quantity(requests[name])), detail)
    for name, amount in pod_limits(pod).items():
        if name.startswith(HUGE_PAGES_PREFIX) and name in limits and amount > quantity(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {amount}"
            errors.invalid(f"{path}.limits[{name}]", str(quantity(limits[name])), detail)
    for n, container in enumerate(spec.get("containers") or ()):
        for name, value in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and quantity(value) > quantity(limits[name]):
                detail = f"must be less than or equal to pod limits of {quantity(limits[name])}"
                errors.invalid(f"{path}.containers[{n}][{name}].limits", str(quantity(value)), detail)
