"""Parts of plugin results: interfaces, addresses, routes and DNS settings.

`to_json` returns an object with keys in Go's struct order.

Mirrors: containernetworking/cni pkg/types/types.go, pkg/types/020, 040 and 100
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesim.golang.addresses import IP, NO_NET, IPNet, ip_from_text, parse_cidr
from kubesim.golang.json import InOrder
from kubesim.golang.structs import INT, STRING, FromText, GoType, Own, Pointer, Slice, Struct
from kubesim.values import value_object


@value_object
class DNS:
    nameservers: tuple[str, ...] = ()
    domain: str = ""
    search: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.nameservers or self.domain or self.search or self.options)

    def to_json(self) -> InOrder:
        out = InOrder()
        _put(out, "nameservers", list(self.nameservers))
        _put(out, "domain", self.domain)
        _put(out, "search", list(self.search))
        _put(out, "options", list(self.options))
        return out


NO_DNS: Final = DNS()


@value_object
class Route:
    dst: IPNet = NO_NET
    gw: IP | None = None
    mtu: int = 0
    advmss: int = 0
    priority: int = 0
    table: int | None = None
    scope: int | None = None

    def to_json(self) -> InOrder:
        out = InOrder(dst=str(self.dst))
        if self.gw is not None:
            out["gw"] = str(self.gw)
        _put(out, "mtu", self.mtu)
        _put(out, "advmss", self.advmss)
        _put(out, "priority", self.priority)
        if self.table is not None:
            out["table"] = self.table
        if self.scope is not None:
            out["scope"] = self.scope
        return out


@value_object
class Interface:
    """mtu, socket_path and pci_id exist from 1.0.0 on."""

    name: str = ""
    mac: str = ""
    mtu: int = 0
    sandbox: str = ""
    socket_path: str = ""
    pci_id: str = ""

    def to_json(self) -> InOrder:
        out = InOrder(name=self.name)
        _put(out, "mac", self.mac)
        _put(out, "mtu", self.mtu)
        _put(out, "sandbox", self.sandbox)
        _put(out, "socketPath", self.socket_path)
        _put(out, "pciID", self.pci_id)
        return out


@value_object
class IPConfig:
    """An address of a pod. `version` ("4" or "6") exists in 0.3.0 to 0.4.0 and is otherwise None."""

    address: IPNet = NO_NET
    gateway: IP | None = None
    interface: int | None = None
    version: str | None = None

    def to_json(self) -> InOrder:
        out = InOrder()
        if self.version is not None:
            out["version"] = self.version
        if self.interface is not None:
            out["interface"] = self.interface
        out["address"] = str(self.address)
        if self.gateway is not None:
            out["gateway"] = str(self.gateway)
        return out


@value_object
class IPConfig020:
    """The only address of a family in 0.1.0 and 0.2.0, with its routes."""

    ip: IPNet = NO_NET
    gateway: IP | None = None
    routes: tuple[Route, ...] = ()

    def to_json(self) -> InOrder:
        out = InOrder(ip=str(self.ip))
        if self.gateway is not None:
            out["gateway"] = str(self.gateway)
        _put(out, "routes", [route.to_json() for route in self.routes])
        return out


def _put(out: InOrder, key: str, value: object) -> None:
    """`omitempty`."""
    if value:
        out[key] = value


def dns_from(given: Mapping[str, Any]) -> DNS:
    return DNS(
        tuple(given.get("nameservers") or ()),
        given.get("domain", ""),
        tuple(given.get("search") or ()),
        tuple(given.get("options") or ()),
    )


def _route_from(given: Mapping[str, Any]) -> Route:
    return Route(**given)


def _ip_config_from(given: Mapping[str, Any]) -> IPConfig:
    return IPConfig(**given)


def _ip_config_040_from(given: Mapping[str, Any]) -> IPConfig:
    return IPConfig(**{"version": "", **given})


def _ip_config_020_from(given: Mapping[str, Any]) -> IPConfig020:
    return IPConfig020(**{**given, "routes": tuple(given.get("routes") or ())})


def interface_from(given: Mapping[str, Any]) -> Interface:
    return Interface(
        given.get("name", ""),
        given.get("mac", ""),
        given.get("mtu", 0),
        given.get("sandbox", ""),
        given.get("socketPath", ""),
        given.get("pciID", ""),
    )


_NET_IP = FromText("net.IP", ip_from_text)
_IP_NET = Own("types.IPNet", STRING, parse_cidr, lambda: NO_NET)
_STRINGS = Slice(STRING)
DNS_TYPE: Final = Struct(
    "types.DNS", {"nameservers": _STRINGS, "domain": STRING, "search": _STRINGS, "options": _STRINGS}
)
_ROUTE_FIELDS: dict[str, GoType] = {
    "dst": _IP_NET,
    "gw": _NET_IP,
    "mtu": INT,
    "advmss": INT,
    "priority": INT,
    "table": Pointer(INT),
    "scope": Pointer(INT),
}
ROUTE_TYPE: Final = Own("types.Route", Struct("types.route", _ROUTE_FIELDS), _route_from, Route)

_IP_FIELDS: dict[str, GoType] = {"interface": Pointer(INT), "address": _IP_NET, "gateway": _NET_IP}
IP_CONFIG_100: Final = Own("types100.IPConfig", Struct("types100.ipConfig", _IP_FIELDS), _ip_config_from, IPConfig)
IP_CONFIG_040: Final = Own(
    "types040.IPConfig",
    Struct("types040.ipConfig", {"version": STRING, **_IP_FIELDS}),
    _ip_config_040_from,
    lambda: IPConfig(version=""),
)
IP_CONFIG_020: Final = Own(
    "types020.IPConfig",
    Struct("types020.ipConfig", {"ip": _IP_NET, "gateway": _NET_IP, "routes": Slice(ROUTE_TYPE)}),
    _ip_config_020_from,
    IPConfig020,
)

_INTERFACE_FIELDS: dict[str, GoType] = {"name": STRING, "mac": STRING, "sandbox": STRING}
INTERFACE_040: Final = Struct("types040.Interface", _INTERFACE_FIELDS)
INTERFACE_100: Final = Struct(
    "types100.Interface", {**_INTERFACE_FIELDS, "mtu": INT, "socketPath": STRING, "pciID": STRING}
)
