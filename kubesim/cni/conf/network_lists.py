"""Network configurations: parses lists and single plugins, and injects values into a plugin's input.

Pure functions on text; `directory.py` reads the files. A plugin's configuration is stored as it will be written to its
stdin: keys sorted, numbers converted through float64, like libcni's re-encoding.

Mirrors: containernetworking/cni libcni/conf.go, libcni/api.go buildOneConfig
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key
from typing import Any, Final

from kubesim.cni.spec.results import plain
from kubesim.cni.spec.types import DNS, DNS_TYPE, NO_DNS, dns_from
from kubesim.cni.spec.versions import CURRENT, at_least, greater_than
from kubesim.errors import CniError
from kubesim.golang.json import dumps
from kubesim.golang.structs import BOOL, OBJECT, STRING, GoType, Map, Slice, Struct, unmarshal
from kubesim.golang.text import quoted
from kubesim.values import value_object

_ATTACHMENT = Struct("types.GCAttachment", {"containerID": STRING, "ifname": STRING})
_PLUGIN_FIELDS: dict[str, GoType] = {
    "cniVersion": STRING,
    "name": STRING,
    "type": STRING,
    "capabilities": Map(BOOL),
    "ipam": Struct("types.IPAM", {"type": STRING}),
    "dns": DNS_TYPE,
    "prevResult": OBJECT,
    "cni.dev/valid-attachments": Slice(_ATTACHMENT),
}
_PLUGIN = Struct("types.PluginConf", _PLUGIN_FIELDS)


@value_object
class PluginConf:
    """The configuration fields of a plugin that libcni reads (types.PluginConf)."""

    type: str
    name: str = ""
    cni_version: str = ""
    capabilities: Mapping[str, bool] | None = None
    ipam_type: str = ""
    dns: DNS = NO_DNS
    prev_result: Mapping[str, Any] | None = None
    valid_attachments: tuple[Mapping[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The marshalled form: always with `ipam`, other fields only if not empty."""
        out: dict[str, Any] = {"ipam": {"type": self.ipam_type} if self.ipam_type else {}}
        known = {
            "cniVersion": self.cni_version,
            "name": self.name,
            "type": self.type,
            "capabilities": dict(self.capabilities or {}),
            "dns": plain(self.dns.to_json()),
            "prevResult": self.prev_result,
            "cni.dev/valid-attachments": [
                {"containerID": entry.get("containerID", ""), "ifname": entry.get("ifname", "")}
                for entry in self.valid_attachments
            ],
        }
        return out | {key: value for key, value in known.items() if value}


@value_object
class PluginConfig:
    """One plugin of a network: its libcni fields, and its full configuration."""

    network: PluginConf
    raw: Mapping[str, Any]
    source: bytes

    def describe(self) -> str:
        """Its name in error messages."""
        name = f" name={quoted(self.network.name)}" if self.network.name else ""
        return f"type={quoted(self.network.type)}{name}"


@value_object
class NetworkConfigList:
    """A network: a chain of plugins."""

    name: str
    cni_version: str
    plugins: tuple[PluginConfig, ...]
    source: bytes
    disable_check: bool = False
    disable_gc: bool = False
    load_only_inlined_plugins: bool = False

    def supports(self, version: str) -> bool:
        """Whether the version is at least this one; false for a version that cannot be parsed."""
        try:
            return at_least(self.cni_version, version)
        except CniError:
            return False


def plugin_conf_from_bytes(data: bytes) -> PluginConfig:
    """NetworkPluginConfFromBytes."""
    try:
        given = unmarshal(_PLUGIN, data)
    except ValueError as error:
        raise CniError(f"error parsing configuration: {error}") from None
    if not given.get("type"):
        raise CniError("error parsing configuration: missing 'type'")
    network = PluginConf(
        given["type"],
        given.get("name", ""),
        given.get("cniVersion", ""),
        given.get("capabilities"),
        given.get("ipam", {}).get("type", ""),
        dns_from(given.get("dns", {})),
        given.get("prevResult"),
        tuple(given.get("cni.dev/valid-attachments") or ()),
    )
    try:
        raw = unmarshal(OBJECT, data)
    except ValueError as error:
        raise CniError(str(error)) from None
    return PluginConfig(network, raw, data)


def network_conf_from_bytes(data: bytes) -> NetworkConfigList:
    """A list from its own text, without plugins in other files (NetworkConfFromBytes)."""
    try:
        raw = unmarshal(OBJECT, data) or {}
    except ValueError as error:
        raise _wrong(str(error)) from None
    if "name" not in raw:
        raise _wrong("no name")
    if not isinstance(raw["name"], str):
        raise _wrong(f"invalid name type {go_type(raw['name'])}")
    version = raw.get("cniVersion", "")
    if not isinstance(version, str):
        raise _wrong(f"invalid cniVersion type {go_type(version)}")
    if "cniVersions" in raw:
        version = _greatest_version(raw["cniVersions"], version)
    disable_check, disable_gc, inlined = (
        _read_bool(raw, key) for key in ("disableCheck", "disableGC", "loadOnlyInlinedPlugins")
    )
    plugins = _inlined_plugins(raw, inlined)
    return NetworkConfigList(raw["name"], version, plugins, data, disable_check, disable_gc, inlined)


def _inlined_plugins(raw: Mapping[str, Any], inlined: bool) -> tuple[PluginConfig, ...]:
    if "plugins" not in raw:
        if inlined:
            raise _wrong("`loadOnlyInlinedPlugins` is true, and no 'plugins' key")
        return ()
    plugins = raw["plugins"]
    if not isinstance(plugins, list):
        raise _wrong(f"invalid 'plugins' type {go_type(plugins)}")
    if not plugins:
        raise _wrong("no plugins in list")
    found = []
    for n, plugin in enumerate(plugins):
        try:
            found.append(plugin_conf_from_bytes(dumps(plugin).encode()))
        except CniError as error:
            raise CniError(f"failed to parse plugin config {n}: {error}") from None
    return tuple(found)


def _greatest_version(versions: Any, version: str) -> str:
    """The greatest offered version that this library supports."""
    if not isinstance(versions, list):
        raise _wrong("invalid type for cniVersions: []interface {}")  # Go names the expected type
    known = []
    for n, entry in enumerate(versions):
        if not isinstance(entry, str):
            raise _wrong(f"invalid type for cniVersions index {n}: {go_type(entry)}")
        try:
            if not greater_than(entry, CURRENT):
                known.append(entry)
        except CniError as error:
            raise _wrong(f"invalid cniVersions entry {entry} at index {n}: {error}") from None
    if version:
        try:
            if not greater_than(version, CURRENT):
                known.append(version)
        except CniError as error:
            raise _wrong(f"invalid cniVersion {version}: {error}") from None
    return sorted(known, key=cmp_to_key(_compare_versions))[-1] if known else version


def _compare_versions(one: str, other: str) -> int:
    if one == other:
        return 0
    return 1 if greater_than(one, other) else -1


def _read_bool(raw: Mapping[str, Any], key: str) -> bool:
    value = raw.get(key, False)
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise _wrong(f"invalid type {go_type(value)} for {key}")
    if value.lower() not in ("true", "false"):
        raise _wrong(f"invalid value {quoted(value.lower())} for {key}")
    return value.lower() == "true"


def _wrong(problem: str) -> CniError:
    return CniError(f"error parsing configuration list: {problem}")


_GO_TYPES: Final = {
    bool: "bool",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def go_type(value: Any) -> str:
    """`%T` of a value that JSON was decoded to."""
    return _GO_TYPES.get(type(value), "<nil>")


def conf_list_from_conf(conf: PluginConfig) -> NetworkConfigList:
    """A single plugin as a list of one (ConfListFromConf)."""
    whole = {"name": conf.network.name, "cniVersion": conf.network.cni_version, "plugins": [dict(conf.raw)]}
    return network_conf_from_bytes(dumps(whole).encode())


def whole_source(network: NetworkConfigList) -> str:
    """A network as one list, including plugins that came from other files."""
    plugins = [dict(plugin.raw) for plugin in network.plugins]
    return dumps({"name": network.name, "cniVersion": network.cni_version, "plugins": plugins})


def build_one_config(
    name: str,
    version: str,
    plugin: PluginConfig,
    prev_result: Mapping[str, Any] | None,
    capability_args: Mapping[str, Any] | None,
) -> bytes:
    """The stdin of one plugin of a chain (buildOneConfig, injectRuntimeConfig)."""
    config: dict[str, Any] = {**plugin.raw, "name": name, "cniVersion": version}
    if prev_result is not None:
        config["prevResult"] = prev_result
    supported = [key for key, on in (plugin.network.capabilities or {}).items() if on]
    runtime_config = (
        {key: capability_args[key] for key in supported if key in capability_args} if capability_args else {}
    )
    if runtime_config:
        if prev_result is not None:
            config["prevResult"] = plain(prev_result)  # decoding sorts the keys of injected values
        config["runtimeConfig"] = runtime_config
    return dumps(config).encode()


def inject_conf(plugin: PluginConfig, values: Mapping[str, Any]) -> bytes:
    """A plugin's configuration with injected values (InjectConf)."""
    return dumps({**plugin.raw, **values}).encode()
