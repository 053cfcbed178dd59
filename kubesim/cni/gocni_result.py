"""Merges the results of several networks by interface.

Mirrors: containerd/go-cni result.go, helper.go
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from kubesim.cni.spec.results import Result, plain
from kubesim.cni.spec.types import DNS, Interface, IPConfig, Route
from kubesim.errors import CniError
from kubesim.golang.addresses import IP
from kubesim.values import mutable, value_object


@value_object
class InterfaceIP:
    ip: IP | None
    gateway: IP | None

    def to_json(self) -> dict[str, str]:
        return {"IP": str(self.ip or ""), "Gateway": str(self.gateway or "")}


@mutable
class InterfaceConfig:
    """An interface that a plugin reported, including host interfaces."""

    mac: str = ""
    sandbox: str = ""
    pci_id: str = ""
    socket_path: str = ""
    ip_configs: list[InterfaceIP] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "IPConfigs": [config.to_json() for config in self.ip_configs] or None,
            "Mac": self.mac,
            "Sandbox": self.sandbox,
            "PciID": self.pci_id,
            "SocketPath": self.socket_path,
        }


@value_object
class CNIResult:
    interfaces: dict[str, InterfaceConfig]
    dns: tuple[DNS, ...] = ()
    routes: tuple[Route | None, ...] = ()
    raw: tuple[Result, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "Interfaces": {name: config.to_json() for name, config in self.interfaces.items()},
            "DNS": [plain(dns.to_json()) for dns in self.dns] or None,
            "Routes": [None if route is None else plain(route.to_json()) for route in self.routes] or None,
        }


def create_result(results: Sequence[Result], default_interface: str) -> CNIResult:
    """The merged result. A repeated interface replaces the earlier one with its addresses. An address without an
    interface belongs to the default one.
    """
    interfaces = {default_interface: InterfaceConfig()}
    for result in results:
        for interface in result.interfaces:
            if interface is None:
                raise _invalid("invalid interface (nil)")
            interfaces[interface.name] = _config_of(interface)
        for ip in result.ips:
            name = _interface_of(ip, result.interfaces) or default_interface
            assert ip is not None
            interfaces[name].ip_configs.append(InterfaceIP(ip.address.ip, ip.gateway))
    routes = tuple(route for result in results for route in result.routes)
    return CNIResult(interfaces, tuple(result.dns for result in results), routes, tuple(results))


def _config_of(interface: Interface) -> InterfaceConfig:
    return InterfaceConfig(interface.mac, interface.sandbox, interface.pci_id, interface.socket_path)


def _interface_of(ip: IPConfig | None, interfaces: Sequence[Interface | None]) -> str | None:
    """The interface name of an address; None if the address names none."""
    if ip is None:
        raise _invalid("invalid IP configuration (nil)")
    if ip.interface is None:
        return None
    count = len(interfaces)
    if ip.interface > count:
        number = f"interface number {ip.interface} is > number of interfaces {count}"
        raise _invalid(f"invalid IP configuration ({number})")
    if not 0 <= ip.interface < count:  # upstream's check is off by one and ignores negative numbers, so it panics
        raise _invalid(f"invalid IP configuration (interface number {ip.interface} of {count})")
    interface = interfaces[ip.interface]
    assert interface is not None, "looked at before"
    return interface.name


def _invalid(problem: str) -> CniError:
    return CniError(f"invalid interface config: {problem}: invalid result", kinds=("ErrInvalidResult",))
