"""Plugin results: decoding, conversion between specification versions, encoding.

Mirrors: containernetworking/cni pkg/types/create, pkg/types/internal, pkg/types/020, 040 and 100; pkg/invoke/exec.go
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from kubesim.cni.spec.types import (
    DNS,
    DNS_TYPE,
    INTERFACE_040,
    INTERFACE_100,
    IP_CONFIG_020,
    IP_CONFIG_040,
    IP_CONFIG_100,
    NO_DNS,
    ROUTE_TYPE,
    Interface,
    IPConfig,
    IPConfig020,
    Route,
    dns_from,
    interface_from,
)
from kubesim.cni.spec.versions import CURRENT, decode_version
from kubesim.errors import CniError
from kubesim.golang.json import InOrder, dumps, dumps_in_order
from kubesim.golang.structs import OBJECT, STRING, Pointer, Slice, Struct, unmarshal
from kubesim.golang.text import listed, quoted
from kubesim.values import replace, value_object

T = TypeVar("T")

VERSIONS_020: Final = ("", "0.1.0", "0.2.0")
VERSIONS_040: Final = ("0.3.0", "0.3.1", "0.4.0")
VERSIONS_100: Final = ("1.0.0", "1.1.0")

_RESULT_020 = Struct(
    "types020.Result",
    {"cniVersion": STRING, "ip4": Pointer(IP_CONFIG_020), "ip6": Pointer(IP_CONFIG_020), "dns": DNS_TYPE},
)
_RESULT_040 = Struct(
    "types040.Result",
    {
        "cniVersion": STRING,
        "interfaces": Slice(Pointer(INTERFACE_040)),
        "ips": Slice(Pointer(IP_CONFIG_040)),
        "routes": Slice(Pointer(ROUTE_TYPE)),
        "dns": DNS_TYPE,
    },
)
_RESULT_100 = Struct(
    "types100.Result",
    {
        "cniVersion": STRING,
        "interfaces": Slice(Pointer(INTERFACE_100)),
        "ips": Slice(Pointer(IP_CONFIG_100)),
        "routes": Slice(Pointer(ROUTE_TYPE)),
        "dns": DNS_TYPE,
    },
)


@value_object
class Result020:
    """A result of 0.1.0 and 0.2.0: one address per family."""

    version: str
    ip4: IPConfig020 | None = None
    ip6: IPConfig020 | None = None
    dns: DNS = NO_DNS

    def to_json(self) -> dict[str, Any]:
        out = InOrder(cniVersion=self.version)
        if self.ip4 is not None:
            out["ip4"] = self.ip4.to_json()
        if self.ip6 is not None:
            out["ip6"] = self.ip6.to_json()
        out["dns"] = self.dns.to_json()
        return out


@value_object
class Result:
    """A result from 0.3.0 on. List entries can be null and are passed on."""

    version: str = CURRENT
    interfaces: tuple[Interface | None, ...] = ()
    ips: tuple[IPConfig | None, ...] = ()
    routes: tuple[Route | None, ...] = ()
    dns: DNS = NO_DNS

    def to_json(self) -> dict[str, Any]:
        """0.x keeps the struct's order and its empty DNS; 1.x is sorted and omits it."""
        out = InOrder(cniVersion=self.version)
        for key, entries in (("interfaces", self.interfaces), ("ips", self.ips), ("routes", self.routes)):
            if entries:
                out[key] = [None if entry is None else entry.to_json() for entry in entries]
        if self.version not in VERSIONS_100:
            out["dns"] = self.dns.to_json()
            return out
        if not self.dns.is_empty:
            out["dns"] = self.dns.to_json()
        sorted_by_key: dict[str, Any] = plain(out)
        return sorted_by_key


AnyResult = Result | Result020


def plain(value: Any) -> Any:
    """Plain values with sorted keys, as after Go has decoded its own JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def print_result(result: AnyResult) -> str:
    """Print indented JSON, as plugins do."""
    return dumps_in_order(_ordered(result.to_json()), indent=4)


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        keys = value if isinstance(value, InOrder) else sorted(value)
        return {key: _ordered(value[key]) for key in keys}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def create_result(version: str, data: bytes) -> AnyResult:
    """Decode a result of a known version."""
    try:
        if version in VERSIONS_020:
            return _create_020(data)
        if version in VERSIONS_040:
            return _create(data, _RESULT_040, VERSIONS_040)
        if version in VERSIONS_100:
            return _create(data, _RESULT_100, VERSIONS_100)
    except ValueError as error:
        raise CniError(str(error)) from None
    raise CniError(f"unsupported CNI result version {quoted(version)}")


def create_from_bytes(data: bytes) -> AnyResult:
    """Decode a result of the version that it names."""
    return create_result(decode_version(data), data)


def _create_020(data: bytes) -> Result020:
    given = unmarshal(_RESULT_020, data)
    version = _supported(given.get("cniVersion", ""), VERSIONS_020)
    return Result020(version or "0.1.0", given.get("ip4"), given.get("ip6"), dns_from(given.get("dns", {})))


def _create(data: bytes, type_: Struct, versions: tuple[str, ...]) -> Result:
    given = unmarshal(type_, data)
    return Result(
        _supported(given.get("cniVersion", ""), versions),
        tuple(None if entry is None else interface_from(entry) for entry in given.get("interfaces") or ()),
        tuple(given.get("ips") or ()),
        tuple(given.get("routes") or ()),
        dns_from(given.get("dns", {})),
    )


def _supported(version: str, versions: tuple[str, ...]) -> str:
    if version not in versions:
        raise CniError(f"result type supports {listed(versions)} but unmarshalled CNIVersion is {quoted(version)}")
    return version


def result_of_plugin(config_version: str, stdout: bytes) -> AnyResult:
    """A plugin's ADD output. An output without a version has the configuration's (fixupResultVersion)."""
    try:
        raw = unmarshal(OBJECT, stdout) or {}
    except ValueError as error:
        raise CniError(f"failed to unmarshal raw result: {error}") from None
    version = raw.get("cniVersion")
    if isinstance(version, str) and version:
        return create_result(version, stdout)
    version = config_version or "0.1.0"
    return create_result(version, dumps({**raw, "cniVersion": version}).encode())


def convert(result: AnyResult, to: str) -> AnyResult:
    """The result converted to another version (GetAsVersion)."""
    to = to or "0.1.0"
    if result.version == to:
        return result
    if to not in (*VERSIONS_020[1:], *VERSIONS_040, *VERSIONS_100):
        raise CniError(f"no converter for CNI result version {result.version} to {to}")
    if isinstance(result, Result020):
        return replace(result, version=to) if to in VERSIONS_020 else _up_from_020(result, to)
    if to in VERSIONS_020:
        return _down_to_020(_with_address_versions(result), to)
    if (result.version in VERSIONS_100) == (to in VERSIONS_100):
        return replace(result, version=to)
    return replace(_with_address_versions(result), version=to) if to in VERSIONS_040 else _up_from_040(result, to)


def current(result: AnyResult) -> Result:
    """The result in the newest version that this library implements."""
    converted = convert(result, CURRENT)
    assert isinstance(converted, Result)
    return converted


def _up_from_020(result: Result020, to: str) -> Result:
    ips: list[IPConfig] = []
    routes: list[Route] = []
    for version, config in (("4", result.ip4), ("6", result.ip6)):
        if config is not None:
            ips.append(IPConfig(config.ip, config.gateway, version=version if to in VERSIONS_040 else None))
            routes += config.routes
    return Result(to, (), tuple(ips), tuple(routes), result.dns)


def _up_from_040(result: Result, to: str) -> Result:
    ips = tuple(replace(_there(ip, "ips"), version=None) for ip in result.ips)
    interfaces = tuple(_there(interface, "interfaces") for interface in result.interfaces)
    return replace(result, version=to, interfaces=interfaces, ips=ips)


def _with_address_versions(result: Result) -> Result:
    """To 0.4.0: addresses get a version field, interfaces lose fields of 1.0.0."""
    if result.version in VERSIONS_040:
        return result
    ips = [replace(_there(ip, "ips"), version="4" if _there(ip, "ips").address.is_ipv4 else "6") for ip in result.ips]
    interfaces = [_there(interface, "interfaces") for interface in result.interfaces]
    bare = [Interface(interface.name, interface.mac, sandbox=interface.sandbox) for interface in interfaces]
    return replace(result, interfaces=tuple(bare), ips=tuple(ips))


def _down_to_020(result: Result, to: str) -> Result020:
    """To 0.2.0: the first address of each family; routes keep only destination and gateway."""
    found: dict[str, IPConfig] = {}
    for entry in result.ips:
        ip = _there(entry, "ips")
        if ip.version in ("4", "6"):
            found.setdefault(ip.version, ip)
        if len(found) == 2:
            break
    routes: dict[str, list[Route]] = {"4": [], "6": []}
    for route in (_there(entry, "routes") for entry in result.routes):
        routes["4" if route.dst.is_ipv4 else "6"].append(Route(route.dst, route.gw))
    if not found:
        raise CniError("cannot convert: no valid IP addresses")
    configs = {family: IPConfig020(ip.address, ip.gateway, tuple(routes[family])) for family, ip in found.items()}
    return Result020(to, configs.get("4"), configs.get("6"), result.dns)


def _there(entry: T | None, key: str) -> T:
    """Go would dereference a nil pointer here."""
    if entry is None:
        raise CniError(f"cannot convert: null in {key}")
    return entry
