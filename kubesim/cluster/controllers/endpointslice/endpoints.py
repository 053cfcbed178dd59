"""Converts a pod to an endpoint of a Service: addresses, conditions, ports.

Mirrors: endpointslice utils.go podToEndpoint, getEndpointPorts, FindPort, getEndpointAddresses; util
controller_utils.go ShouldPodBeInEndpoints, podEndpointsChanged; endpointset.go hashEndpoint
"""

from __future__ import annotations

import ipaddress

from kubesim.api.meta import ObjectReference
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.workloads.services import Endpoint, EndpointConditions, EndpointPort, Service, ServicePort

ZONE = "topology.kubernetes.io/zone"

EndpointKey = tuple[tuple[str, ...], str, str, str]


def is_ready(pod: Pod) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)


def should_be_in_endpoints(pod: Pod) -> bool:
    """Whether a pod is listed: from its first address until it terminates. Readiness and deletion are conditions."""
    return pod.status.phase not in TERMINAL_PHASES and bool(pod.status.pod_ip or pod.status.pod_ips)


def pod_to_endpoint(pod: Pod, node: Node | None, service: Service, address_type: str) -> Endpoint:
    serving, terminating = is_ready(pod), pod.metadata.deletion_timestamp is not None
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    metadata, spec = pod.metadata, pod.spec
    has_hostname = spec.hostname and spec.subdomain == service.metadata.name
    return Endpoint(
        addresses=addresses_of(pod, address_type),
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=spec.hostname if has_hostname and metadata.namespace == service.metadata.namespace else None,
        target_ref=ObjectReference(kind="Pod", namespace=metadata.namespace, name=metadata.name, uid=metadata.uid),
        node_name=spec.node_name or None,
        zone=(node.metadata.labels.get(ZONE) or None) if node is not None else None,
    )


def addresses_of(pod: Pod, address_type: str) -> tuple[str, ...]:
    version = 6 if address_type == "IPv6" else 4
    status = pod.status
    ips = [item.ip for item in status.pod_ips] or ([status.pod_ip] if status.pod_ip else [])  # set by older kubelets
    found = map(ipaddress.ip_address, ips)
    return tuple(sorted(str(address) for address in found if address.version == version))


def endpoint_ports(service: Service, pod: Pod) -> tuple[EndpointPort, ...]:
    """The ports of the Service on this pod, without named ports that the pod lacks."""
    ports = []
    for port in service.spec.ports:
        number = find_port(pod, port)
        if number is not None:
            name, protocol, app_protocol = port.name, port.protocol, port.app_protocol
            ports.append(EndpointPort(name=name, protocol=protocol, port=number, app_protocol=app_protocol))
    return tuple(sorted(ports, key=_port_order))


def _port_order(port: EndpointPort) -> tuple[str, str, int]:
    """Sort key of ports (upstream sorts by hash)."""
    return port.name or "", port.protocol or "", port.port or 0


def find_port(pod: Pod, port: ServicePort) -> int | None:
    target = port.target_port
    if isinstance(target, int):
        return target
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        for declared in container.ports:
            if declared.name == target and declared.protocol == port.protocol:
                return declared.container_port
    return None


def endpoint_key(endpoint: Endpoint) -> EndpointKey:
    """Endpoints with the same key are versions of the same endpoint."""
    target = endpoint.target_ref
    named = ("", "") if target is None else (target.namespace, target.name)
    return tuple(sorted(endpoint.addresses)), endpoint.hostname or "", *named


def is_same_state(one: Endpoint, other: Endpoint) -> bool:
    """Whether two endpoints with the same key are equal, ignoring hints, which other providers set."""
    return (one.node_name, one.zone, one.conditions, _without_version(one.target_ref)) == (
        other.node_name,
        other.zone,
        other.conditions,
        _without_version(other.target_ref),
    )


def _without_version(target: ObjectReference | None) -> ObjectReference | None:
    return None if target is None else target.changed(resource_version="")


def pod_endpoints_changed(old: Pod, new: Pod) -> bool:
    """Whether a pod update may change an endpoint. For a pod being deleted, every update counts."""
    if old.metadata.deletion_timestamp is not None or new.metadata.deletion_timestamp is not None:
        return True
    before, after = old.status, new.status
    return is_ready(old) != is_ready(new) or (before.pod_ip, before.pod_ips) != (after.pod_ip, after.pod_ips)


def may_match_other_services(old: Pod, new: Pod) -> bool:
    return (
        old.metadata.labels != new.metadata.labels
        or old.spec.hostname != new.spec.hostname
        or old.spec.subdomain != new.spec.subdomain
    )
