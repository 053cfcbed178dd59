"""Service, and the EndpointSlices that list its endpoints.

Mirrors: k8s.io/api/core/v1/types.go Service; discovery/v1/types.go
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject, ObjectReference
from kubesim.api.model import Model, go


class ServicePort(Model):
    name: str = go("string")
    protocol: str = go("Protocol")
    app_protocol: str | None = go("*string")
    port: int = go("int32", always=True)
    target_port: int | str = go("IntOrString")
    node_port: int = go("int32")


class ServiceSpec(Model):
    ports: tuple[ServicePort, ...] = go("[]ServicePort", merge="port")
    selector: dict[str, str] = go("map[string]string")
    cluster_ip: str = go("string")
    cluster_ips: tuple[str, ...] = go("[]string")
    type: str = go("ServiceType")
    external_ips: tuple[str, ...] = go("[]string")
    session_affinity: str = go("ServiceAffinity")
    load_balancer_ip: str = go("string")
    load_balancer_source_ranges: tuple[str, ...] = go("[]string")
    external_name: str = go("string")
    external_traffic_policy: str = go("ServiceExternalTrafficPolicy")
    health_check_node_port: int = go("int32")
    publish_not_ready_addresses: bool = go("bool")
    session_affinity_config: dict[str, Any] | None = go("*SessionAffinityConfig")
    ip_families: tuple[str, ...] = go("[]IPFamily")
    ip_family_policy: str | None = go("*IPFamilyPolicy")
    allocate_load_balancer_node_ports: bool | None = go("*bool")
    load_balancer_class: str | None = go("*string")
    internal_traffic_policy: str | None = go("*ServiceInternalTrafficPolicy")
    traffic_distribution: str | None = go("*string")


class ServiceStatus(Model):
    load_balancer: dict[str, Any] = go("LoadBalancerStatus")
    conditions: tuple[dict[str, Any], ...] = go("[]Condition", merge="type")


class Service(ApiObject):
    spec: ServiceSpec = go("ServiceSpec")
    status: ServiceStatus = go("ServiceStatus")


class EndpointConditions(Model):
    ready: bool | None = go("*bool")
    serving: bool | None = go("*bool")
    terminating: bool | None = go("*bool")


class Endpoint(Model):
    addresses: tuple[str, ...] = go("[]string", always=True)
    conditions: EndpointConditions = go("EndpointConditions")
    hostname: str | None = go("*string")
    target_ref: ObjectReference | None = go("*ObjectReference")
    deprecated_topology: dict[str, str] = go("map[string]string")
    node_name: str | None = go("*string")
    zone: str | None = go("*string")
    hints: dict[str, Any] | None = go("*EndpointHints")


class EndpointPort(Model):
    name: str | None = go("*string")
    protocol: str | None = go("*Protocol")
    port: int | None = go("*int32")
    app_protocol: str | None = go("*string")


class EndpointSlice(ApiObject):
    address_type: str = go("AddressType", always=True)
    endpoints: tuple[Endpoint, ...] = go("[]Endpoint", always=True)
    ports: tuple[EndpointPort, ...] = go("[]EndpointPort", always=True)
