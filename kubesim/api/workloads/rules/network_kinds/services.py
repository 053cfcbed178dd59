"""Defaults and validation of Services and EndpointSlices.

The cluster IPs and node ports that a Service gets are allocated before it is validated (cluster/registry/services).

Mirrors: pkg/apis/core/v1/defaults.go SetDefaults_Service; pkg/registry/core/service/strategy.go
dropTypeDependentFields; pkg/apis/core/validation/validation.go validateService, ValidateServiceUpdate;
pkg/registry/discovery/endpointslice/strategy.go
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, FieldError, JsonObject, Raw
from kubesim.api.validation.metadata import validate_labels
from kubesim.api.validation.network import validate_balancer, validate_endpoint_ip
from kubesim.api.workloads.rules.kind_rules import KindRules

HEADLESS = "None"
EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT, CLUSTER_IP = "ExternalName", "LoadBalancer", "NodePort", "ClusterIP"
_TYPES = (CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT)
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_SESSION_SECONDS = 10800
_LONGEST_SESSION_SECONDS = 86400
_TOPOLOGY_HINTS, _TOPOLOGY_MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_ONLY_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_NOT_EXTERNAL_NAME = "may not be set for ExternalName services"
_ONCE = "may not change once set"


def needs_cluster_ip(spec: JsonObject) -> bool:
    return bool(spec.get("type") != EXTERNAL_NAME)


def needs_node_port(spec: JsonObject) -> bool:
    return spec.get("type") in (NODE_PORT, LOAD_BALANCER)


def needs_health_check_port(spec: JsonObject) -> bool:
    return spec.get("type") == LOAD_BALANCER and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: JsonObject) -> bool:
    return needs_node_port(spec) or (spec.get("type") == CLUSTER_IP and bool(spec.get("externalIPs")))


def is_headless(spec: JsonObject) -> bool:
    return (spec.get("clusterIPs") or []) == [HEADLESS]


# -- defaults -------------------------------------------------------------------------------------------------------


def _default(service: JsonObject) -> None:
    spec: JsonObject = service.setdefault("spec", {})
    spec["sessionAffinity"] = affinity = spec.get("sessionAffinity") or "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if config.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _SESSION_SECONDS}}
    spec["type"] = spec.get("type") or CLUSTER_IP
    for port in spec.get("ports") or ():
        port["protocol"] = port.get("protocol") or "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if is_externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and spec["type"] in (NODE_PORT, LOAD_BALANCER, CLUSTER_IP):
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == LOAD_BALANCER and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True
    balancer = service.setdefault("status", {}).setdefault("loadBalancer", {})
    for ingress in balancer.get("ingress") or () if spec["type"] == LOAD_BALANCER else ():
        if ingress.get("ip"):
            ingress.setdefault("ipMode", "VIP")


def _prepare(service: JsonObject) -> None:
    service["status"] = {"loadBalancer": {}}


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    """Clear fields that a change of the type makes meaningless, unless the client changed them too."""
    spec, before = new["spec"], old["spec"]
    if needs_cluster_ip(before) and not needs_cluster_ip(spec):
        if _same(spec, before, "clusterIP") and _same(spec, before, "clusterIPs"):
            _drop(spec, "clusterIP", "clusterIPs")
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if _same(spec, before, name):
                _drop(spec, name)
    if needs_node_port(before) and not needs_node_port(spec) and _node_ports(before) >= _node_ports(spec):
        for port in spec.get("ports") or ():
            _drop(port, "nodePort")
    for needs, name in (
        (needs_health_check_port, "healthCheckNodePort"),
        (_is_load_balancer, "allocateLoadBalancerNodePorts"),
        (_is_load_balancer, "loadBalancerClass"),
        (is_externally_accessible, "externalTrafficPolicy"),
    ):
        if needs(before) and not needs(spec) and _same(spec, before, name):
            _drop(spec, name)


def _is_load_balancer(spec: JsonObject) -> bool:
    return spec.get("type") == LOAD_BALANCER


def _same(new: JsonObject, old: JsonObject, name: str) -> bool:
    return (new.get(name) or None) == (old.get(name) or None)


def _drop(obj: JsonObject, *names: str) -> None:
    for name in names:
        obj.pop(name, None)


def _node_ports(spec: JsonObject) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


# -- validation -----------------------------------------------------------------------------------------------------


def _validate(errors: Errors, service: JsonObject) -> None:
    spec, annotations = service["spec"], service["metadata"].get("annotations") or {}
    name = service["metadata"].get("name", "")
    if not formats.dns1123_subdomain(name):  # other errors have already been added
        errors.all_invalid("metadata.name", name, formats.dns1123_label(name))
    hints, mode = annotations.get(_TOPOLOGY_HINTS), annotations.get(_TOPOLOGY_MODE)
    if hints is not None and mode is not None and hints != mode:
        detail = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        errors.invalid(f"metadata.annotations[{_TOPOLOGY_MODE}]", mode, detail)
    ports = spec.get("ports") or []
    if not ports and not is_headless(spec) and needs_cluster_ip(spec):
        errors.required("spec.ports")
    _validate_type(errors, spec)
    names: set[str] = set()
    for n, port in enumerate(ports):
        _validate_port(errors, port, f"spec.ports[{n}]", names, needs_name=len(ports) > 1)
    if spec.get("selector"):
        validate_labels(errors, spec["selector"], "spec.selector")
    _validate_session_affinity(errors, spec)
    validate_cluster_ips(errors, spec)
    for n, address in enumerate(spec.get("externalIPs") or ()):
        validate_endpoint_ip(errors, address, f"spec.externalIPs[{n}]")
    errors.unless_one_of("spec.type", spec["type"], _TYPES)
    _validate_unique_ports(errors, spec)
    _validate_load_balancer(errors, spec)
    _validate_traffic_policies(errors, spec)


def _validate_type(errors: Errors, spec: JsonObject) -> None:
    if spec["type"] in (LOAD_BALANCER, NODE_PORT) and is_headless(spec):
        errors.invalid("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {spec['type']} services")
    if spec["type"] == EXTERNAL_NAME:
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                errors.forbidden(f"spec.{name}", _NOT_EXTERNAL_NAME)
        name = (spec.get("externalName") or "").removesuffix(".")
        if name:
            errors.all_invalid("spec.externalName", name, formats.dns1123_subdomain(name))
        else:
            errors.required("spec.externalName")


def _validate_port(errors: Errors, port: JsonObject, path: str, names: set[str], *, needs_name: bool) -> None:
    name = port.get("name", "")
    if needs_name and not name:
        errors.required(f"{path}.name")
    elif name:
        errors.all_invalid(f"{path}.name", name, formats.dns1123_label(name))
        if name in names:
            errors.duplicate(f"{path}.name", name)
        names.add(name)
    errors.all_invalid(f"{path}.port", port.get("port", 0), formats.port_number(port.get("port", 0)))
    errors.unless_one_of(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    target = port["targetPort"]
    complaints = formats.port_number(target) if isinstance(target, int) else formats.port_name(target)
    errors.all_invalid(f"{path}.targetPort", target, complaints)
    if port.get("appProtocol") is not None:
        errors.all_invalid(f"{path}.appProtocol", port["appProtocol"], formats.label_key(port["appProtocol"]))


def _validate_session_affinity(errors: Errors, spec: JsonObject) -> None:
    affinity = spec["sessionAffinity"]
    errors.unless_one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    if affinity == "ClientIP":
        timeout = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < timeout <= _LONGEST_SESSION_SECONDS:
            path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            errors.invalid(path, timeout, f"must be greater than 0 and less than {_LONGEST_SESSION_SECONDS}")


def validate_cluster_ips(errors: Errors, spec: JsonObject) -> None:
    """Validate cluster IPs, IP families and the family policy where they depend on each other.

    Mirrors: ValidateServiceClusterIPsRelatedFields
    """
    if not needs_cluster_ip(spec):
        return
    first, addresses, families = spec.get("clusterIP"), spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    if first and not addresses:
        errors.required("spec.clusterIPs")
    elif first and addresses[0] != first:
        errors.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    elif not first and addresses:
        errors.invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified")
    for n, family in enumerate(families):
        errors.unless_one_of(f"spec.ipFamilies[{n}]", family, ("IPv4", "IPv6"))
        if family in families[:n]:
            errors.duplicate(f"spec.ipFamilies[{n}]", family)
    if spec.get("ipFamilyPolicy") is not None:
        errors.unless_one_of("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], _FAMILY_POLICIES)
    if _are_addresses(errors, addresses):
        _validate_families(errors, addresses, [] if is_headless(spec) else families)


def _are_addresses(errors: Errors, addresses: list[str]) -> bool:
    before = len(errors)
    for n, address in enumerate(addresses):
        if n == 0 and address == HEADLESS:
            if len(addresses) > 1:
                errors.invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
            continue
        errors.all_invalid(f"spec.clusterIPs[{n}]", address, formats.ip_address(address))
    fine = len(errors) == before
    if len(addresses) > 2:
        errors.invalid("spec.clusterIPs", addresses, "may only hold up to 2 values")
    return fine


def _validate_families(errors: Errors, addresses: list[str], families: list[str]) -> None:
    if len(addresses) > 1 and len({family_of(address) for address in addresses}) < len(addresses):
        errors.invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family")
    for n, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in ("IPv4", "IPv6") and family_of(address) != family:
            detail = f"expected an {family} value as indicated by `ipFamilies[{n}]`"
            errors.invalid(f"spec.clusterIPs[{n}]", address, detail)


def family_of(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def _validate_unique_ports(errors: Errors, spec: JsonObject) -> None:
    ports = spec.get("ports") or []
    if spec["type"] == CLUSTER_IP:
        for n, port in enumerate(ports):
            if port.get("nodePort"):
                errors.forbidden(f"spec.ports[{n}].nodePort", "may not be used when `type` is 'ClusterIP'")
    seen: set[tuple[str, str, int]] = set()
    for n, port in enumerate(ports):
        key = ("nodePort", port["protocol"], port.get("nodePort", 0))
        if key[2] and key in seen:
            errors.duplicate(f"spec.ports[{n}].nodePort", key[2])
        seen.add(key)
    for n, port in enumerate(ports):
        key = ("port", port["protocol"], port.get("port", 0))
        if key in seen:
            shown = (
                f'{{"Name":"","Protocol":"{key[1]}","AppProtocol":null,"Port":{key[2]},"TargetPort":0,"NodePort":0}}'
            )
            errors.append(FieldError("Duplicate value", f"spec.ports[{n}]", Raw(shown)))
        seen.add(key)


def _validate_load_balancer(errors: Errors, spec: JsonObject) -> None:
    ranges = spec.get("loadBalancerSourceRanges") or []
    if ranges and not _is_load_balancer(spec):
        errors.forbidden("spec.LoadBalancerSourceRanges", _ONLY_LOAD_BALANCERS)
    for n, text in enumerate(ranges):
        try:
            ipaddress.ip_network(text.strip(), strict=False)
        except ValueError:
            detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            errors.invalid(f"spec.LoadBalancerSourceRanges[{n}]", text.strip(), detail)
    if spec.get("allocateLoadBalancerNodePorts") is not None and not _is_load_balancer(spec):
        errors.forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCERS)
    load_balancer_class = spec.get("loadBalancerClass")
    if load_balancer_class is not None:
        if _is_load_balancer(spec):
            errors.all_invalid("spec.loadBalancerClass", load_balancer_class, formats.label_key(load_balancer_class))
        else:
            errors.forbidden("spec.loadBalancerClass", _ONLY_LOAD_BALANCERS)


def _validate_traffic_policies(errors: Errors, spec: JsonObject) -> None:
    policy, port = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    if is_externally_accessible(spec):
        errors.unless_one_of("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))
    elif policy:
        errors.invalid("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    if needs_health_check_port(spec):
        if not port:
            errors.required("spec.healthCheckNodePort")
        else:
            errors.all_invalid("spec.healthCheckNodePort", port, formats.port_number(port))
    elif port:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.invalid("spec.healthCheckNodePort", port, detail)
    internal = spec.get("internalTrafficPolicy")
    if internal is not None:
        errors.unless_one_of("spec.internalTrafficPolicy", internal, ("Cluster", "Local"))
    distribution = spec.get("trafficDistribution")
    if distribution is not None:
        errors.unless_one_of("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


def _validate_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    """Check that cluster IPs do not change, unless the type changes to or from ExternalName, or the Service remains
    headless.
    """
    spec, before = new["spec"], old["spec"]
    if needs_cluster_ip(spec) and needs_cluster_ip(before) and not (is_headless(spec) and is_headless(before)):
        addresses, former = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
        if former and not addresses:
            errors.invalid("spec.clusterIPs[0]", addresses, "primary clusterIP can not be unset")
        elif former and addresses[0] != former[0]:
            errors.invalid("spec.clusterIPs[0]", addresses, _ONCE)
    if needs_cluster_ip(spec) and needs_cluster_ip(before) and not (is_headless(spec) or is_headless(before)):
        families, former = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
        if families[:1] != former[:1]:
            errors.invalid("spec.ipFamilies[0]", families, _ONCE)
    if _is_load_balancer(spec) and _is_load_balancer(before) and not _same(spec, before, "loadBalancerClass"):
        errors.invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), _ONCE)
    if needs_health_check_port(spec) and needs_health_check_port(before):
        if spec.get("healthCheckNodePort", 0) != before.get("healthCheckNodePort", 0):
            errors.forbidden("spec.healthCheckNodePort", "field is immutable")


def _validate_status(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    path = "status.loadBalancer.ingress"
    found = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    if found and (new.get("spec") or {}).get("type") != LOAD_BALANCER:
        errors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for n, ingress in enumerate(found):
        validate_balancer(errors, {"ip": ingress.get("ip")}, f"{path}[{n}]")
        mode = ingress.get("ipMode")
        if mode is not None and not ingress.get("ip"):
            errors.forbidden(f"{path}[{n}].ipMode", "may not be specified when `ip` is not set")
        elif mode is not None:
            errors.unless_one_of(f"{path}[{n}].ipMode", mode, ("Proxy", "VIP"))
        validate_balancer(errors, {"hostname": ingress.get("hostname")}, f"{path}[{n}]")


# -- EndpointSlices -------------------------------------------------------------------------------------------------


def _validate_slice(errors: Errors, endpoint_slice: JsonObject) -> None:
    kind = endpoint_slice.get("addressType", "")
    if not kind:
        errors.required("addressType")
    else:
        errors.unless_one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    for n, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        addresses = endpoint.get("addresses") or []
        path = f"endpoints[{n}].addresses"
        if not addresses:
            errors.required(path, "must contain at least 1 address")
        elif len(addresses) > 100:
            errors.too_many(path, len(addresses), 100)
        for m, address in enumerate(addresses):
            if kind in ("IPv4", "IPv6"):
                complaints = formats.ip_address(address)
                errors.all_invalid(f"{path}[{m}]", address, complaints)
                if not complaints and family_of(address) != kind:
                    errors.invalid(path, address, f"must be an {kind} address")
        if endpoint.get("hostname") is not None:
            errors.all_invalid(
                f"endpoints[{n}].hostname", endpoint["hostname"], formats.dns1123_label(endpoint["hostname"])
            )


def _default_slice(endpoint_slice: JsonObject) -> None:
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port["protocol"] = port.get("protocol") or "TCP"


def _prepare_slice_update(new: JsonObject, old: JsonObject) -> None:
    """Increase the generation if anything but annotations changed."""
    content, before = ({k: v for k, v in obj.items() if k != "metadata"} for obj in (new, old))
    labels, former = ((obj["metadata"].get("labels") or {}) for obj in (new, old))
    if content != before or labels != former:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_slice_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    if new.get("addressType") != old.get("addressType"):
        errors.invalid("addressType", new.get("addressType", ""), "field is immutable")


RULES: Mapping[str, KindRules] = {
    "Service": KindRules(
        _default,
        _prepare,
        _validate,
        _validate_update,
        has_generation=False,
        prepare_update=_prepare_update,
        validate_status=_validate_status,
    ),
    "EndpointSlice": KindRules(
        _default_slice,
        validate=_validate_slice,
        validate_update=_validate_slice_update,
        prepare_update=_prepare_slice_update,
    ),
}
