"""Validation of a pod's new status: conditions, container states, addresses.

The functions take JSON objects with defaults and add errors in the API's order. Mirrors: pkg/apis/core/validation
ValidatePodStatusUpdate, ValidateContainerStateTransition, validatePodIPs, validateHostIPs; pkg/api/v1/pod/util.go
ContainerShouldRestart
"""

from __future__ import annotations

import ipaddress
import json

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, FieldError, JsonObject, Named, Raw
from kubesim.api.validation.options import PodValidationOptions
from kubesim.cluster.registry.metadata_updates import FIELD_IS_IMMUTABLE, validate_kubernetes_meta_update
from kubesim.cluster.registry.pod_updates import OPTIONS, validate_annotation_updates
from kubesim.cluster.registry.subresources.status_resources import (
    validate_allocated_resources,
    validate_claim_statuses,
    validate_container_users,
    validate_image_volume_statuses,
    validate_no_allocated_resources,
)

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_NOT_BACK = "may not be transitioned to non-terminated state"
_NON_NEGATIVE = "must be a non-negative integer"
_OF_CONTAINERS = (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers"))
_EPHEMERAL = "ephemeralContainerStatuses"


def validate_pod_status_update(
    errors: Errors, new: JsonObject, old: JsonObject, options: PodValidationOptions = OPTIONS
) -> None:
    validate_kubernetes_meta_update(errors, new["metadata"], old["metadata"])
    validate_annotation_updates(errors, new, old)
    status, before, spec = new.get("status") or {}, old.get("status") or {}, new["spec"]
    for n, condition in enumerate(status.get("conditions") or ()):
        where = f"status.conditions[{n}]"
        if condition.get("observedGeneration", 0) < 0:
            errors.invalid(f"{where}.observedGeneration", condition["observedGeneration"], _NON_NEGATIVE)
        if condition.get("type") not in _SYSTEM_CONDITIONS:
            errors.all_invalid(f"{where}.Type", condition.get("type", ""), formats.label_key(condition.get("type", "")))
    _validate_nominated_node(errors, status, before, old["spec"], options)
    if status.get("observedGeneration", 0) < 0:
        errors.invalid("status.observedGeneration", status["observedGeneration"], _NON_NEGATIVE)
    if status.get("qosClass", "") != before.get("qosClass", ""):
        errors.invalid("status.qosClass", Named(status.get("qosClass", "")), FIELD_IS_IMMUTABLE)
    for kind, containers in _OF_CONTAINERS:
        validate_transitions(errors, status, before, kind, old["spec"], old["spec"].get(containers) or [])
    _validate_ephemeral_transitions(errors, status, before)
    validate_claim_statuses(errors, status, spec)
    _validate_ips(errors, status, before)
    for kind in (*(kind for kind, _ in _OF_CONTAINERS), _EPHEMERAL):
        validate_container_users(errors, status.get(kind) or (), f"status.{kind}", spec)
    for kind, containers in _OF_CONTAINERS:
        validate_allocated_resources(errors, status.get(kind) or (), f"status.{kind}", spec.get(containers) or ())
    validate_no_allocated_resources(errors, status.get(_EPHEMERAL) or (), f"status.{_EPHEMERAL}")
    if options.gates.enabled("ImageVolumeWithDigest"):
        for kind in (*(kind for kind, _ in _OF_CONTAINERS), _EPHEMERAL):
            validate_image_volume_statuses(errors, status.get(kind) or (), f"status.{kind}")


def _validate_nominated_node(
    errors: Errors, status: JsonObject, before: JsonObject, spec: JsonObject, options: PodValidationOptions
) -> None:
    nominated = status.get("nominatedNodeName", "")
    if not nominated or nominated == before.get("nominatedNodeName", ""):
        return
    errors.all_invalid("status.nominatedNodeName", nominated, formats.dns1123_subdomain(nominated))
    if spec.get("nodeName") and options.gates.enabled("ClearingNominatedNodeNameAfterBinding"):
        errors.forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")


def validate_transitions(
    errors: Errors, new: JsonObject, old: JsonObject, kind: str, spec: JsonObject, containers: list[JsonObject]
) -> None:
    """Reject a status in which a permanently terminated container runs again."""
    if _all_could_restart(spec):
        return
    for n, status in enumerate(old.get(kind) or ()):
        terminated, name = (status.get("state") or {}).get("terminated"), status.get("name", "")
        if terminated is None or not _no_longer_terminated(new, kind, name):
            continue
        container = next((container for container in containers if container.get("name", "") == name), None)
        if container is None or not _should_restart(container, spec, terminated.get("exitCode", 0)):
            errors.forbidden(f"status.{kind}[{n}].state", _NOT_BACK)


def _validate_ephemeral_transitions(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    for n, status in enumerate(old.get(_EPHEMERAL) or ()):
        ended = (status.get("state") or {}).get("terminated") is not None
        for _ in range(_no_longer_terminated(new, _EPHEMERAL, status.get("name", "")) if ended else 0):
            errors.forbidden(f"status.{_EPHEMERAL}[{n}].state", _NOT_BACK)


def _no_longer_terminated(new: JsonObject, kind: str, name: str) -> int:
    """The number of new statuses of this name that are no longer terminated."""
    return sum(
        status.get("name", "") == name and (status.get("state") or {}).get("terminated") is None
        for status in new.get(kind) or ()
    )


def _all_could_restart(spec: JsonObject) -> bool:
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return any(
        rule.get("action") == "RestartAllContainers"
        for container in containers
        for rule in container.get("restartPolicyRules") or ()
    )


def _should_restart(container: JsonObject, spec: JsonObject, exit_code: int) -> bool:
    """Whether the container restarts, by its first matching restart rule, its restart policy, or the pod's."""
    own = container.get("restartPolicy")
    if own is not None and any(_matches(rule, exit_code) for rule in container.get("restartPolicyRules") or ()):
        return True
    policy = own or spec.get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _matches(rule: JsonObject, exit_code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    found = exit_code in (codes.get("values") or ())
    return bool(codes) and found == (codes.get("operator") == "In")


def _validate_ips(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    _validate_ip_list(errors, new, old, "podIPs")
    host_ips = [entry.get("ip", "") for entry in new.get("hostIPs") or ()]
    if host_ips:
        if new.get("hostIP", "") != host_ips[0]:
            errors.invalid("status.hostIPs[0].ip", host_ips[0], "must be equal to `hostIP`")
        _validate_ip_list(errors, new, old, "hostIPs")


def _validate_ip_list(errors: Errors, new: JsonObject, old: JsonObject, kind: str) -> None:
    """Validate addresses, at most one of each family. Addresses accepted before stay valid."""
    path = f"status.{kind}"
    addresses = [entry.get("ip", "") for entry in new.get(kind) or ()]
    known = {entry.get("ip", "") for entry in old.get(kind) or ()}
    for n, address in enumerate(addresses):
        if address not in known:
            errors.all_invalid(f"{path}[{n}]", address, formats.ip_address(address))
    if len(addresses) < 2:
        return
    families = [_family(address) for address in addresses]
    if None in families:
        n = families.index(None)
        detail = f"failed to check for dual stack with error:invalid IP[{n}]: {addresses[n]}"
        errors.append(FieldError("Internal error", path, detail=detail))
    if None in families or len(set(families)) < 2 or len(addresses) > 2:
        value = Raw(json.dumps([{"IP": address} for address in addresses], separators=(",", ":")))
        errors.invalid(path, value, "may specify no more than one IP for each IP family")


def _family(address: str) -> int | None:
    try:
        return ipaddress.ip_address(address).version
    except ValueError:
        return None
