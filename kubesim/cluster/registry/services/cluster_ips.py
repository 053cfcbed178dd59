"""Cluster IPs: allocates IP families and addresses when a Service is created or changes its type.

The cluster is IPv4 only. An address is derived from the Service's namespace and name, so it is the same in every run.
If it is taken, the next free address is used.

Mirrors: pkg/registry/core/service/storage alloc.go initIPFamilyFields, allocClusterIPs, updateClusterIPs; storage.go
normalizeClusterIPs, patchAllocatedValues; ipallocator (dynamic allocation uses the upper part of the range)
"""

from __future__ import annotations

import hashlib
import ipaddress

from kubesim.api.validation.field import Errors, FieldError, JsonObject
from kubesim.api.workloads.rules.network_kinds.services import (
    HEADLESS,
    family_of,
    is_headless,
    needs_cluster_ip,
    validate_cluster_ips,
)
from kubesim.api.workloads.services import Service
from kubesim.cluster.problems import invalid_object
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store

RANGE = ipaddress.IPv4Network("10.96.0.0/12")
RESERVED = 256  # the lower part is reserved for static allocation
FAMILY = "IPv4"


def allocate_cluster_ips(store: Store, service: JsonObject, old: JsonObject | None) -> None:
    """Allocate cluster IPs, in place. A Service keeps its addresses."""
    spec, before = service["spec"], None if old is None else old["spec"]
    if before is not None:
        _keep_allocated(spec, before)
    _synchronize(spec, before)
    if not needs_cluster_ip(spec):
        return
    _set_families(service, before)
    if is_headless(spec) or (before is not None and needs_cluster_ip(before)):
        return
    wanted = (spec.get("clusterIPs") or [""])[0]
    used = {
        address
        for other in store.list("Service")
        if isinstance(other, Service) and not _is(other, service)
        for address in other.spec.cluster_ips
    }
    address = _requested(service, wanted, used) if wanted else _next_free(service, used)
    spec["clusterIP"], spec["clusterIPs"] = address, [address]


def _keep_allocated(spec: JsonObject, before: JsonObject) -> None:
    """Restore the allocated addresses: a client that re-applies its manifest does not name them."""
    if needs_cluster_ip(spec) and needs_cluster_ip(before):
        spec["clusterIP"] = spec.get("clusterIP") or before.get("clusterIP", "")
        spec["clusterIPs"] = spec.get("clusterIPs") or before.get("clusterIPs") or []


def _synchronize(spec: JsonObject, before: JsonObject | None) -> None:
    """Synchronize `clusterIP` and `clusterIPs`."""
    first, addresses = spec.get("clusterIP"), spec.get("clusterIPs") or []
    if before is None:
        if first and not addresses:
            spec["clusterIPs"] = [first]
        return
    if first != before.get("clusterIP") and addresses == (before.get("clusterIPs") or []):
        spec["clusterIPs"] = [first] if first else []


def _set_families(service: JsonObject, before: JsonObject | None) -> None:
    spec = service["spec"]
    headless_without_selector = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        kept = None if before is None else before.get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = kept or ("RequireDualStack" if headless_without_selector else "SingleStack")
    errors = Errors()
    validate_cluster_ips(errors, spec)
    _refuse(service, errors)
    policy, families = spec["ipFamilyPolicy"], list(spec.get("ipFamilies") or ())
    if policy == "SingleStack":
        for name, called in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
            if len(spec.get(name) or ()) == 2:
                detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {called} are specified"
                errors.invalid("spec.ipFamilyPolicy", policy, detail)
    for n, address in enumerate(spec.get("clusterIPs") or ()):
        if address != HEADLESS and n >= len(families):
            if family_of(address) != FAMILY:
                detail = f"{family_of(address)} is not configured on this cluster"
                errors.invalid(f"spec.clusterIPs[{n}]", spec["clusterIPs"], detail)
            else:
                families.append(FAMILY)
    _refuse(service, errors)
    if headless_without_selector:
        families = families or [FAMILY]
        if len(families) < 2 and policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"] = families
        return
    if policy == "RequireDualStack":
        errors.invalid("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services")
    for n, family in enumerate(families):
        if family != FAMILY:
            errors.invalid(f"spec.ipFamilies[{n}]", family, "not configured on this cluster")
    _refuse(service, errors)
    spec["ipFamilies"] = families or [FAMILY]


def _requested(service: JsonObject, address: str, used: set[str]) -> str:
    problem = ""
    if ipaddress.ip_address(address) not in RANGE:
        problem = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {RANGE}"
    elif address in used:
        problem = "provided IP is already allocated"
    if problem:
        detail = f"failed to allocate IP {address}: {problem}"
        _refuse(service, [FieldError("Invalid value", "spec.clusterIPs", [address], detail)])
    return address


def _next_free(service: JsonObject, used: set[str]) -> str:
    metadata, size = service["metadata"], RANGE.num_addresses - 1 - RESERVED  # the last one is the broadcast address
    digest = hashlib.sha256(f"{metadata.get('namespace', '')}/{metadata.get('name', '')}".encode()).digest()
    at = int.from_bytes(digest[:8], "big") % size
    while (address := str(RANGE[RESERVED + at])) in used:
        at = (at + 1) % size
    return address


def _is(other: Service, service: JsonObject) -> bool:
    metadata = service["metadata"]
    return (other.metadata.namespace, other.metadata.name) == (metadata.get("namespace", ""), metadata.get("name", ""))


def _refuse(service: JsonObject, errors: list[FieldError]) -> None:
    if errors:
        raise invalid_object(resource_of("Service"), service["metadata"].get("name", ""), errors)
