"""Defaults and validation of NetworkPolicies.

Mirrors: pkg/apis/networking/validation ValidateNetworkPolicySpec, ValidateIPBlock; pkg/apis/networking/v1/defaults.go
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.metadata import validate_label_selector
from kubesim.api.workloads.rules.kind_rules import KindRules

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = ("Ingress", "Egress")


def _rules(spec: JsonObject) -> list[tuple[str, str, JsonObject]]:
    """Path, name of the peers, and content of each rule."""
    found = []
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for n, rule in enumerate(spec.get(direction) or ()):
            found.append((f"spec.{direction}[{n}]", peers, rule))
    return found


def _default(policy: JsonObject) -> None:
    spec = policy.setdefault("spec", {})
    for _, _, rule in _rules(spec):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate(errors: Errors, policy: JsonObject) -> None:
    spec = policy.get("spec") or {}
    validate_label_selector(errors, spec.get("podSelector"), "spec.podSelector")
    for path, peers, rule in _rules(spec):
        for n, port in enumerate(rule.get("ports") or ()):
            _validate_port(errors, port, f"{path}.ports[{n}]")
        for n, peer in enumerate(rule.get(peers) or ()):
            _validate_peer(errors, peer, f"{path}.{peers}[{n}]")
    types = spec.get("policyTypes") or []
    if len(types) > len(_DIRECTIONS):
        errors.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for n, direction in enumerate(types):
        errors.unless_one_of(f"spec.policyTypes[{n}]", direction, _DIRECTIONS)


def _validate_port(errors: Errors, port: JsonObject, path: str) -> None:
    errors.unless_one_of(f"{path}.protocol", port.get("protocol", "TCP"), _PROTOCOLS)
    number, last = port.get("port"), port.get("endPort")
    if number is None:
        if last is not None:
            errors.invalid(f"{path}.endPort", last, "may not be specified when `port` is not specified")
    elif isinstance(number, int):
        errors.all_invalid(f"{path}.port", number, formats.port_number(number))
        if last is not None:
            if last < number:
                errors.invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
            errors.all_invalid(f"{path}.endPort", last, formats.port_number(last))
    else:
        if last is not None:
            errors.invalid(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
        errors.all_invalid(f"{path}.port", number, formats.port_name(number))


def _validate_peer(errors: Errors, peer: JsonObject, path: str) -> None:
    named = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    for name in ("podSelector", "namespaceSelector"):
        validate_label_selector(errors, peer.get(name), f"{path}.{name}")
    if "ipBlock" in named:
        _validate_block(errors, peer["ipBlock"], f"{path}.ipBlock")
    if not named:
        errors.required(path, "must specify a peer")
    elif len(named) > 1 and "ipBlock" in named:
        errors.forbidden(path, "may not specify both ipBlock and another peer")


def _validate_block(errors: Errors, block: JsonObject, path: str) -> None:
    if not block.get("cidr"):
        errors.required(f"{path}.cidr")
        return
    whole = _network(errors, block["cidr"], f"{path}.cidr")
    if whole is None:
        return
    for n, text in enumerate(block.get("except") or ()):
        part = _network(errors, text, f"{path}.except[{n}]")
        if part is None:
            continue
        inside = part.version == whole.version and part.network_address in whole
        if not inside or whole.prefixlen >= part.prefixlen:
            errors.invalid(f"{path}.except[{n}]", text, "must be a strict subset of `cidr`")


def _network(errors: Errors, text: str, path: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The network of a CIDR; None after an error."""
    complaints = formats.network(text)
    errors.all_invalid(path, text, complaints)
    return None if complaints else ipaddress.ip_network(text)


RULES: Mapping[str, KindRules] = {"NetworkPolicy": KindRules(_default, validate=_validate)}
