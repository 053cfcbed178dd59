"""The flannel meta plugin: builds the configuration of another plugin from its own and flanneld's subnet file, and
delegates to that plugin (by default bridge with host-local).

The delegate's input is stored in `dataDir/CONTAINER`, so that DEL can pass the same input.

Mirrors: flannel-io/cni-plugin flannel.go, flannel_linux.go
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import field
from typing import Any, Final

from kubesim.cni.spec.results import print_result as result_text
from kubesim.cni.spec.skel import CmdArgs, CNIFuncs, delegate_add, delegate_del, plugin_main
from kubesim.cni.spec.types import ROUTE_TYPE, Route
from kubesim.errors import CniError
from kubesim.golang.addresses import IP, IPNet, parse_cidr
from kubesim.golang.json import dumps
from kubesim.golang.structs import OBJECT, STRING, Slice, Struct, decode_alone, parse, unmarshal
from kubesim.values import mutable

SUBNET_FILE: Final = "/run/flannel/subnet.env"
DATA_DIR: Final = "/var/lib/cni/flannel"

_CONF = Struct(
    "main.NetConf",
    {
        "cniVersion": STRING,
        "name": STRING,
        "ipam": OBJECT,
        "subnetFile": STRING,
        "dataDir": STRING,
        "delegate": OBJECT,
        "runtimeConfig": OBJECT,
    },
)


@mutable
class SubnetEnv:
    """The contents of flanneld's subnet file."""

    networks: list[IPNet] = field(default_factory=list)
    subnet: IPNet | None = None
    ipv6_networks: list[IPNet] = field(default_factory=list)
    ipv6_subnet: IPNet | None = None
    mtu: int | None = None
    ip_masq: bool | None = None

    def missing(self) -> list[str]:
        found = []
        if not self.networks and not self.ipv6_networks:
            found += ["FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK"]
        if self.subnet is None and self.ipv6_subnet is None:
            found += ["FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"]
        return found + [
            name for name, value in (("FLANNEL_MTU", self.mtu), ("FLANNEL_IPMASQ", self.ip_masq)) if value is None
        ]


def parse_subnet_env(text: str, source: str) -> SubnetEnv:
    env = SubnetEnv()
    for line in text.splitlines():
        name, _, value = line.partition("=")
        match name:
            case "FLANNEL_NETWORK":
                env.networks = _networks(value)
            case "FLANNEL_SUBNET":
                env.subnet = _network(value)
            case "FLANNEL_IPV6_NETWORK":
                env.ipv6_networks = _networks(value)
            case "FLANNEL_IPV6_SUBNET":
                env.ipv6_subnet = _network(value)
            case "FLANNEL_MTU":
                env.mtu = _unsigned(value)
            case "FLANNEL_IPMASQ":
                env.ip_masq = value == "true"
    if env.missing():
        raise CniError(f"{source} is missing {', '.join(env.missing())}")
    return env


def _networks(text: str) -> list[IPNet]:
    return list(dict.fromkeys(_network(entry) for entry in text.split(",")))


def _network(text: str) -> IPNet:
    """The network of an address with a prefix."""
    try:
        given = parse_cidr(text)
    except ValueError as error:
        raise CniError(str(error)) from None
    assert given.ip is not None
    bits = 32 if given.is_ipv4 else 128
    mask = ~((1 << bits - given.prefix) - 1)
    number = int.from_bytes(given.ip.packed) & mask
    return IPNet(IP(number.to_bytes(16)), given.prefix)


def _unsigned(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= 2**32:
        raise CniError(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)


def delegate_config(conf: dict[str, Any], env: SubnetEnv) -> dict[str, Any]:
    """The input of the delegate."""
    delegate = dict(conf.get("delegate") or {})
    _check_delegate(delegate)
    if conf.get("runtimeConfig") is not None:
        delegate["runtimeConfig"] = conf["runtimeConfig"]
    delegate["name"] = conf.get("name", "")
    delegate.setdefault("type", "bridge")
    delegate.setdefault("ipMasq", not env.ip_masq)  # the delegate masquerades if flanneld does not
    delegate.setdefault("mtu", env.mtu)
    if delegate["type"] == "bridge":
        delegate.setdefault("isGateway", True)
    if conf.get("cniVersion"):
        delegate["cniVersion"] = conf["cniVersion"]
    delegate["ipam"] = _delegate_ipam(conf, env)
    return delegate


def _check_delegate(delegate: dict[str, Any]) -> None:
    if "type" in delegate and not isinstance(delegate["type"], str):
        raise CniError("'delegate' dictionary, if present, must have (string) 'type' field")
    for key in ("name", "ipam"):
        if key in delegate:
            raise CniError(f"'delegate' dictionary must not have '{key}' field, it'll be set by flannel")


def _delegate_ipam(conf: dict[str, Any], env: SubnetEnv) -> dict[str, Any]:
    ipam = dict(conf.get("ipam") or {})
    ipam.setdefault("type", "host-local")
    ipam["ranges"] = [[{"subnet": str(subnet)}] for subnet in (env.subnet, env.ipv6_subnet) if subnet is not None]
    try:
        routes: list[Route] = decode_alone(Slice(ROUTE_TYPE), parse(dumps(ipam.get("routes")).encode())) or []
    except ValueError as error:
        problem = f"failed to read IPAM routes: failed to parse ipam.routes: {error}"
        raise CniError(f"failed to assemble Delegate IPAM: {problem}") from None
    routes += [Route(network) for network in (*env.networks, *env.ipv6_networks)]
    ipam["routes"] = [route.to_json() for route in routes]
    return ipam


def _load_conf(stdin: bytes) -> dict[str, Any]:
    try:
        given: dict[str, Any] = unmarshal(_CONF, stdin)
    except ValueError as error:
        raise CniError(f"failed to load netconf: {error}") from None
    return {"subnetFile": SUBNET_FILE, "dataDir": DATA_DIR, **given}


def cmd_add(args: CmdArgs) -> None:
    conf = _load_conf(args.stdin)
    source = conf["subnetFile"]
    try:
        with open(source, encoding="utf-8") as file:
            env = parse_subnet_env(file.read(), source)
    except (OSError, CniError) as error:
        why = f"open {source}: {os.strerror(error.errno or 0).lower()}" if isinstance(error, OSError) else str(error)
        hint = "Check the flannel pod log for this node."
        raise CniError(f"failed to load flannel 'subnet.env' file: {why}. {hint}") from None
    delegate = delegate_config(conf, env)
    config = dumps(delegate).encode()
    _save(conf["dataDir"], args.container_id, config)
    try:
        result = delegate_add(delegate["type"], config)
    except CniError as error:
        raise CniError(f"failed to delegate add: {error}", error) from None
    sys.stdout.write(result_text(result))


def _save(data_dir: str, container_id: str, config: bytes) -> None:
    """Save with fsync: without the file, the delegate's resources could never be removed."""
    os.makedirs(data_dir, mode=0o700, exist_ok=True)
    fd = os.open(os.path.join(data_dir, container_id), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(config)
        file.flush()
        os.fsync(file.fileno())


def cmd_del(args: CmdArgs) -> None:
    """Missing data was never saved or already removed, so there is nothing to delete."""
    path = os.path.join(_load_conf(args.stdin)["dataDir"], args.container_id)
    try:
        with open(path, "rb") as file:
            config = file.read()
    except FileNotFoundError:
        return
    try:
        plugin = json.loads(config)["type"]
    except (ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"failed to parse netconf: {error}\n")
        return
    delegate_del(plugin, config)
    os.unlink(path)


def main() -> None:
    plugin_main(CNIFuncs(add=cmd_add, delete=cmd_del), about="CNI Plugin flannel, as kubesim brings it")


if __name__ == "__main__":
    main()
