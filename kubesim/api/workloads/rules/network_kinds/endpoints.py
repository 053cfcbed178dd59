"""Validation of Endpoints and of PodTemplates.

Mirrors: pkg/apis/core/validation validateEndpointSubsets, ValidatePodTemplate; pkg/apis/core/v1/defaults.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.network import validate_endpoint_ip
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.api.workloads.rules.pod_templates import default_pod_template, validate_pod_template

_PROTOCOLS = ("SCTP", "TCP", "UDP")


def _default(endpoints: JsonObject) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port["protocol"] = port.get("protocol") or "TCP"


def _validate(errors: Errors, endpoints: JsonObject) -> None:
    for n, subset in enumerate(endpoints.get("subsets") or ()):
        path, ports = f"subsets[{n}]", subset.get("ports") or ()
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.required(path, "must specify `addresses` or `notReadyAddresses`")
        for name in ("addresses", "notReadyAddresses"):
            for m, address in enumerate(subset.get(name) or ()):
                _validate_address(errors, address, f"{path}.{name}[{m}]")
        for m, port in enumerate(ports):
            _validate_port(errors, port, f"{path}.ports[{m}]", needs_name=len(ports) > 1)


def _validate_address(errors: Errors, address: JsonObject, path: str) -> None:
    ip, host, node = address.get("ip", ""), address.get("hostname"), address.get("nodeName")
    complaints = formats.ip_address(ip)
    errors.all_invalid(f"{path}.ip", ip, complaints)
    if host:
        errors.all_invalid(f"{path}.hostname", host, formats.dns1123_label(host))
    if node is not None:
        errors.all_invalid(f"{path}.nodeName", node, formats.dns1123_subdomain(node))
    if formats.ip_address(ip, strict=False):
        errors.invalid(f"{path}.ip", ip, "must be a valid IP address")
    elif not complaints:
        validate_endpoint_ip(errors, ip, f"{path}.ip")


def _validate_port(errors: Errors, port: JsonObject, path: str, *, needs_name: bool) -> None:
    name, number = port.get("name", ""), port.get("port", 0)
    if name:
        errors.all_invalid(f"{path}.name", name, formats.dns1123_label(name))
    elif needs_name:
        errors.required(f"{path}.name")
    errors.all_invalid(f"{path}.port", number, formats.port_number(number))
    errors.unless_one_of(f"{path}.protocol", port.get("protocol", "TCP"), _PROTOCOLS)
    if port.get("appProtocol") is not None:
        errors.all_invalid(f"{path}.appProtocol", port["appProtocol"], formats.label_key(port["appProtocol"]))


def _default_template(obj: JsonObject) -> None:
    default_pod_template(obj.setdefault("template", {}))


def _validate_template(errors: Errors, obj: JsonObject) -> None:
    validate_pod_template(errors, obj.get("template") or {}, "template")


def _prepare_template(obj: JsonObject) -> None:
    obj["metadata"]["generation"] = 1


def _prepare_template_update(new: JsonObject, old: JsonObject) -> None:
    if new.get("template") != old.get("template"):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


RULES: Mapping[str, KindRules] = {
    "Endpoints": KindRules(_default, validate=_validate, has_generation=False),
    "PodTemplate": KindRules(
        _default_template,
        prepare=_prepare_template,
        validate=_validate_template,
        has_generation=False,
        prepare_update=_prepare_template_update,
    ),
}
