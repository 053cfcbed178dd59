"""Node ports: allocates the ports of NodePort and LoadBalancer Services.

A port is derived from the Service's namespace, name and port index. If it is taken, the next free port is used.

Mirrors: pkg/registry/core/service/storage alloc.go initNodePorts, allocHealthCheckNodePort, updateNodePorts; storage.go
patchAllocatedValues; portallocator
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kubesim.api.validation.field import FieldError, JsonObject
from kubesim.api.workloads.rules.network_kinds.services import needs_health_check_port, needs_node_port
from kubesim.api.workloads.services import Service
from kubesim.cluster.problems import internal_error, invalid_object
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store

FIRST, LAST = 30000, 32767
RESERVED = 86  # the lower part is reserved for static allocation


def allocate_node_ports(store: Store, service: JsonObject, old: JsonObject | None) -> None:
    """Allocate node ports, in place. A Service keeps its ports."""
    spec, before = service["spec"], {} if old is None else old["spec"]
    if not needs_node_port(spec):
        return
    ports = spec.get("ports") or []
    if needs_node_port(before):
        _keep_allocated(ports, before)
    if needs_health_check_port(before) and needs_health_check_port(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)
    used = set(_used_by_others(store, service))
    may_draw = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
    by_port: dict[int, int] = {}  # the same port over two protocols shares one node port
    for n, port in enumerate(ports):
        wanted = port.get("nodePort") or by_port.get(port.get("port", 0)) or _asked_for_later(port, ports[n:])
        if wanted:
            _check(service, wanted, used, f"spec.ports[{n}].nodePort")
        elif may_draw:
            wanted = _next_free(service, n, used | set(by_port.values()))
        else:
            continue
        port["nodePort"] = wanted
        by_port.setdefault(port.get("port", 0), wanted)
    if needs_health_check_port(spec):
        wanted = spec.get("healthCheckNodePort", 0)
        if wanted and wanted in used:
            raise internal_error(f"failed to allocate requested HealthCheck NodePort {wanted}: {_ALLOCATED}")
        spec["healthCheckNodePort"] = wanted or _next_free(service, len(ports), used | set(by_port.values()))


_ALLOCATED = "provided port is already allocated"


def _keep_allocated(ports: list[JsonObject], before: JsonObject) -> None:
    """Restore allocated node ports, matched by port name."""
    former = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
    taken = {port.get("nodePort", 0) for port in ports} & set(former.values())
    for port in ports:
        known = former.get(port.get("name", ""), 0)
        if not port.get("nodePort") and known and known not in taken:
            port["nodePort"] = known


def _used_by_others(store: Store, service: JsonObject) -> Iterable[int]:
    own = service["metadata"].get("namespace", ""), service["metadata"].get("name", "")
    for other in store.list("Service"):
        if isinstance(other, Service) and (other.metadata.namespace, other.metadata.name) != own:
            yield from (port.node_port for port in other.spec.ports if port.node_port)
            if other.spec.health_check_node_port:
                yield other.spec.health_check_node_port


def _asked_for_later(port: JsonObject, rest: list[JsonObject]) -> int:
    same = (other.get("nodePort", 0) for other in rest if other.get("port") == port.get("port"))
    return next((number for number in same if number), 0)


def _check(service: JsonObject, port: int, used: set[int], path: str) -> None:
    problem = ""
    if not FIRST <= port <= LAST:
        problem = f"provided port is not in the valid range. The range of valid ports is {FIRST}-{LAST}"
    elif port in used:
        problem = _ALLOCATED
    if problem:
        error = FieldError("Invalid value", path, port, problem)
        raise invalid_object(resource_of("Service"), service["metadata"].get("name", ""), [error])


def _next_free(service: JsonObject, position: int, used: set[int]) -> int:
    metadata, size = service["metadata"], LAST + 1 - FIRST - RESERVED
    text = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}/{position}"
    at = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % size
    for _ in range(size):
        port = FIRST + RESERVED + at
        if port not in used:
            return port
        at = (at + 1) % size
    raise internal_error("failed to allocate a nodePort: range is full")
