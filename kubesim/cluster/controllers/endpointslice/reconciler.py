"""The desired EndpointSlices of a Service, reusing existing ones where possible.

Pure. An endpoint stays in its slice and at its position; new ones are appended to a slice with room for all of them, or
create a new slice. Pods with different port numbers for a named port are in separate slices.

Mirrors: endpointslice reconciler.go Reconcile, reconcileByAddressType, reconcileByPortMapping, finalize; utils.go
newEndpointSlice, getSliceToFill, setEndpointSliceLabels
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kubesim.api.meta import ObjectMeta
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.workloads.services import Endpoint, EndpointPort, EndpointSlice, Service
from kubesim.cluster.controllers.endpointslice.endpoints import (
    EndpointKey,
    endpoint_key,
    endpoint_ports,
    is_same_state,
    pod_to_endpoint,
    should_be_in_endpoints,
)
from kubesim.cluster.controllers.owners import controller_reference
from kubesim.values import value_object

CONTROLLER = "endpointslice-controller.k8s.io"
SERVICE_NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
MAX_ENDPOINTS_PER_SLICE = 100
_RESERVED_LABELS = (SERVICE_NAME, MANAGED_BY, HEADLESS)

Ports = tuple[EndpointPort, ...]
PortsKey = tuple[tuple[object, ...], ...]
FindNode = Callable[[str], Node | None]


@value_object
class SliceChanges:
    """Writes to make. `updated` have the names of existing slices. `lost` are pods whose node does not exist: retry."""

    created: tuple[EndpointSlice, ...] = ()
    updated: tuple[EndpointSlice, ...] = ()
    deleted: tuple[EndpointSlice, ...] = ()
    lost: tuple[Pod, ...] = ()


@value_object
class PortGroup:
    """Endpoints of pods with the same ports."""

    ports: Ports
    endpoints: dict[EndpointKey, Endpoint]


@value_object
class WantedSlice:
    """Endpoints of one address type and one set of ports."""

    service: Service
    address_type: str
    groups: Mapping[PortsKey, PortGroup]
    limit: int


def ports_key(ports: Iterable[EndpointPort]) -> PortsKey:
    return tuple((port.name, port.protocol, port.port, port.app_protocol) for port in ports)


def reconcile(
    service: Service,
    pods: Iterable[Pod],
    existing: Iterable[EndpointSlice],
    find_node: FindNode,
    limit: int = MAX_ENDPOINTS_PER_SLICE,
) -> SliceChanges:
    pods, existing, types = list(pods), list(existing), address_types(service)
    created: list[EndpointSlice] = []
    updated: list[EndpointSlice] = []
    deleted = [item for item in existing if item.address_type not in types]
    lost: dict[str, Pod] = {}
    for address_type in types:
        groups, missing = _wanted_endpoints(service, pods, find_node, address_type)
        lost.update((pod.metadata.name, pod) for pod in missing)
        wanted = WantedSlice(service, address_type, groups, limit)
        changes = _reconcile_address_type(wanted, [s for s in existing if s.address_type == address_type])
        created += changes.created
        updated += changes.updated
        deleted += changes.deleted
    return SliceChanges(tuple(created), tuple(updated), tuple(deleted), tuple(lost.values()))


def address_types(service: Service) -> tuple[str, ...]:
    families = tuple(family for family in service.spec.ip_families if family in ("IPv4", "IPv6"))
    if families:
        return families
    if has_cluster_ip(service):
        return ("IPv6",) if ":" in service.spec.cluster_ip else ("IPv4",)
    return ("IPv4", "IPv6")


def has_cluster_ip(service: Service) -> bool:
    return service.spec.cluster_ip not in ("", "None")


def _wanted_endpoints(
    service: Service, pods: Iterable[Pod], find_node: FindNode, address_type: str
) -> tuple[Mapping[PortsKey, PortGroup], list[Pod]]:
    """The endpoints by port group, and the pods whose node does not exist."""
    wanted: dict[PortsKey, PortGroup] = {}
    lost = []
    for pod in pods:
        if not should_be_in_endpoints(pod):
            continue
        ports = endpoint_ports(service, pod)
        group = wanted.setdefault(ports_key(ports), PortGroup(ports, {}))
        node = find_node(pod.spec.node_name)
        if node is None and not service.spec.publish_not_ready_addresses:
            lost.append(pod)
            continue
        endpoint = pod_to_endpoint(pod, node, service, address_type)
        if endpoint.addresses:
            group.endpoints[endpoint_key(endpoint)] = endpoint
    return wanted, lost


def _reconcile_address_type(wanted: WantedSlice, existing: list[EndpointSlice]) -> SliceChanges:
    by_ports: dict[PortsKey, list[EndpointSlice]] = {}
    created: list[EndpointSlice] = []
    updated: list[EndpointSlice] = []
    deleted: list[EndpointSlice] = []
    for item in existing:
        if is_owned_by(item, wanted.service):
            by_ports.setdefault(ports_key(item.ports), []).append(item)
        else:
            deleted.append(item)
    for key, group in wanted.groups.items():
        changes = _reconcile_ports(wanted, group, by_ports.pop(key, []))
        created += changes.created
        updated += changes.updated
        deleted += changes.deleted
    for unwanted in by_ports.values():
        deleted += unwanted
    if len(deleted) == len(existing) and not created:  # a Service has at least one slice, even an empty one
        placeholder = new_endpoint_slice(wanted.service, (), wanted.address_type)
        if len(deleted) == 1 and _is_placeholder(deleted[0], placeholder):
            deleted = []
        else:
            created = [placeholder]
    return _reuse(wanted.service, created, updated, deleted)


def _is_placeholder(item: EndpointSlice, placeholder: EndpointSlice) -> bool:
    same_labels = item.metadata.labels == placeholder.metadata.labels
    return not item.endpoints and not item.ports and same_labels


def _reuse(
    service: Service, created: list[EndpointSlice], updated: list[EndpointSlice], deleted: list[EndpointSlice]
) -> SliceChanges:
    """Reuse a slice that would be deleted for one that would be created."""
    kept = []
    for item in deleted:
        if created and is_owned_by(item, service):
            new = created.pop()
            updated = [*updated, new.changed(metadata=item.metadata.changed(labels=new.metadata.labels))]
        else:
            kept.append(item)
    return SliceChanges(tuple(created), tuple(updated), tuple(kept))


def _reconcile_ports(wanted: WantedSlice, group: PortGroup, existing: list[EndpointSlice]) -> SliceChanges:
    remaining = dict(group.endpoints)
    changed: list[EndpointSlice] = []
    unchanged: list[EndpointSlice] = []
    deleted: list[EndpointSlice] = []
    # 1. Remove unwanted endpoints and update the others.
    for item in existing:
        kept = _kept_endpoints(item, remaining)
        labels = slice_labels(wanted.service)
        is_same = len(kept) == len(item.endpoints) and all(map(is_same_state, kept, item.endpoints))
        if not kept and item.endpoints:
            deleted.append(item)
        elif not is_same or _own_labels(item.metadata.labels) != _own_labels(labels):
            new = item.changed(metadata=item.metadata.changed(labels=labels))
            changed.append(new if is_same else new.changed(endpoints=tuple(kept)))
        else:
            unchanged.append(item)
    # 2. Fill the slices that are written anyway, fullest first.
    changed.sort(key=lambda item: -len(item.endpoints))
    changed = [_filled(item, remaining, wanted.limit) for item in changed]
    # 3. Put the rest into another slice with room for all, or into new ones.
    created: list[EndpointSlice] = []
    while remaining:
        target = slice_to_fill(unchanged, len(remaining), wanted.limit) if len(remaining) < wanted.limit else None
        if target is None:
            empty = new_endpoint_slice(wanted.service, group.ports, wanted.address_type)
            created.append(_filled(empty, remaining, wanted.limit))
        else:
            unchanged.remove(target)
            changed.append(_filled(target, remaining, wanted.limit))
    return SliceChanges(tuple(created), tuple(changed), tuple(deleted))


def _kept_endpoints(item: EndpointSlice, remaining: dict[EndpointKey, Endpoint]) -> list[Endpoint]:
    """The endpoints that stay, updated. They are removed from the remaining ones."""
    kept = []
    for endpoint in item.endpoints:
        found = remaining.pop(endpoint_key(endpoint), None)
        if found is not None:
            kept.append(found)
    return kept


def _filled(item: EndpointSlice, remaining: dict[EndpointKey, Endpoint], limit: int) -> EndpointSlice:
    added = [remaining.pop(key) for key in list(remaining)[: max(limit - len(item.endpoints), 0)]]
    return item.changed(endpoints=(*item.endpoints, *added)) if added else item


def slice_to_fill(slices: Iterable[EndpointSlice], count: int, limit: int) -> EndpointSlice | None:
    """The slice that is fullest after adding this many endpoints; None if no used slice has room."""
    best, room = None, limit
    for item in slices:
        left = limit - (count + len(item.endpoints))
        if 0 <= left < room:
            best, room = item, left
    return best


def new_endpoint_slice(service: Service, ports: Ports, address_type: str) -> EndpointSlice:
    metadata = service.metadata
    empty = EndpointSlice(
        api_version="discovery.k8s.io/v1",
        kind="EndpointSlice",
        metadata=ObjectMeta(
            generate_name=f"{metadata.name}-",
            namespace=metadata.namespace,
            labels=slice_labels(service),
            owner_references=(controller_reference(service),),
        ),
        address_type=address_type,
    )
    return empty.changed(ports=ports) if ports else empty  # nil slice: null in JSON


def slice_labels(service: Service) -> dict[str, str]:
    """The Service's labels and the controller's own."""
    labels = _own_labels(service.metadata.labels)
    if not has_cluster_ip(service):
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service.metadata.name, MANAGED_BY: CONTROLLER}


def _own_labels(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _RESERVED_LABELS}


def is_owned_by(item: EndpointSlice, service: Service) -> bool:
    return any(o.uid == service.metadata.uid and o.kind == "Service" for o in item.metadata.owner_references)
