"""Network settings of a pod: DNS, host aliases, host network and user namespaces, host names; also addresses.

Mirrors: pkg/apis/core/validation validatePodDNSConfig, ValidateHostAliases, validatePodHostNetworkDeps,
validateHostUsers, validatePodHostName, ValidateEndpointIP
"""

from __future__ import annotations

import ipaddress

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.visit import Containers

DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMESERVERS_MAX = 3
_SEARCHES_MAX = 32
_SEARCH_LIST_MAX = 2048
_HOSTNAME_MAX = 64


def validate_dns_config(errors: Errors, spec: JsonObject, path: str, options: PodValidationOptions) -> None:
    config: JsonObject | None = spec.get("dnsConfig")
    nameservers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not nameservers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.required(f"{path}.nameservers", detail)
            return
    if config is None:
        return
    if len(nameservers) > _NAMESERVERS_MAX:
        detail = f"must not have more than {_NAMESERVERS_MAX} nameservers"
        errors.invalid(f"{path}.nameservers", nameservers, detail)
    for n, server in enumerate(nameservers):
        _validate_ip(errors, server, f"{path}.nameservers[{n}]", options)
    _validate_searches(errors, config.get("searches") or [], f"{path}.searches")
    for n, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.required(f"{path}.options[{n}]", "must not be empty")


def _validate_searches(errors: Errors, searches: list[str], path: str) -> None:
    if len(searches) > _SEARCHES_MAX:
        errors.invalid(path, searches, f"must not have more than {_SEARCHES_MAX} search paths")
    if formats.size(" ".join(searches)) > _SEARCH_LIST_MAX:
        detail = f"must not have more than {_SEARCH_LIST_MAX} characters (including spaces) in the search list"
        errors.invalid(path, searches, detail)
    for n, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            errors.all_invalid(f"{path}[{n}]", domain, formats.dns1123_subdomain_with_underscore(domain))


def _validate_ip(errors: Errors, text: str, path: str, options: PodValidationOptions) -> None:
    strict = options.gates.enabled("StrictIPCIDRValidation")
    errors.all_invalid(path, text, formats.ip_address(text, strict=strict))


def validate_host_aliases(errors: Errors, aliases: list[JsonObject], path: str, options: PodValidationOptions) -> None:
    for n, alias in enumerate(aliases):
        _validate_ip(errors, alias.get("ip", ""), f"{path}[{n}].ip", options)
        for m, hostname in enumerate(alias.get("hostnames") or ()):
            errors.all_invalid(f"{path}[{n}].hostnames[{m}]", hostname, formats.dns1123_subdomain(hostname))


def validate_host_network_ports(errors: Errors, spec: JsonObject, path: str, options: PodValidationOptions) -> None:
    """Check that container ports equal host ports on the host's network."""
    if not spec.get("hostNetwork"):
        return
    for n, container in enumerate(spec.get("containers") or ()):
        for m, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort", 0)
            if (options.resource_is_pod or host_port) and host_port != port.get("containerPort", 0):
                detail = "must match `containerPort` when `hostNetwork` is true"
                errors.invalid(f"{path}.containers[{n}].ports[{m}].hostPort", host_port, detail)


def validate_host_users(
    errors: Errors, spec: JsonObject, containers: Containers, path: str, options: PodValidationOptions
) -> None:
    """Check that a pod with its own user namespace uses no host namespaces."""
    if spec.get("hostUsers") is not False:
        return
    refused = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
    if options.gates.enabled("UserNamespacesHostNetworkSupport"):
        del refused["hostNetwork"]
    for name, shown in refused.items():
        if spec.get(name):
            errors.forbidden(f"{path}.{shown}", "when `hostUsers` is false")
    for container, where in containers:
        if container.get("volumeDevices"):
            errors.forbidden(f"{where}.volumeDevices", "when `hostUsers` is false")


def validate_hostname_override(errors: Errors, spec: JsonObject, path: str) -> None:
    hostname = spec.get("hostnameOverride")
    if hostname is None:
        return
    where = f"{path}.hostnameOverride"
    if spec.get("setHostnameAsFQDN"):
        errors.forbidden(where, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        errors.forbidden(where, "may not be specified when hostNetwork is true")
    if formats.size(hostname) > _HOSTNAME_MAX:
        errors.too_long(where, _HOSTNAME_MAX)
    errors.all_invalid(where, hostname, formats.dns1123_subdomain(hostname))


def validate_endpoint_ip(errors: Errors, text: str, path: str) -> None:
    """Validate an address to which traffic is sent."""
    complaints = formats.ip_address(text)
    if complaints:
        errors.all_invalid(path, text, complaints)
        return
    ip = ipaddress.ip_address(text)
    if ip.is_unspecified:
        errors.invalid(path, text, f"may not be unspecified ({text})")
    if ip.is_loopback:
        errors.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.is_link_local:
        errors.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ip.is_multicast and str(ip).startswith(("224.0.0.", "ff02:")):
        errors.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def validate_balancer(errors: Errors, ingress: JsonObject, path: str) -> None:
    """Validate an address of a load balancer in a status."""
    ip, host = ingress.get("ip"), ingress.get("hostname")
    if ip:
        errors.all_invalid(f"{path}.ip", ip, formats.ip_address(ip))
    if host:
        errors.all_invalid(f"{path}.hostname", host, formats.dns1123_subdomain(host))
        if is_address(host):
            errors.invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address")


def is_address(text: str) -> bool:
    return not formats.ip_address(text, strict=False)


def validate_path_segment(errors: Errors, name: str, path: str) -> None:
    """Validate a required name that is a part of a URL's path."""
    if not name:
        errors.required(path)
    else:
        errors.all_invalid(path, name, formats.path_segment(name))
