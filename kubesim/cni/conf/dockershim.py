"""Network selection of kubelets that called CNI themselves: the first file that loads; invalid files are skipped.

v1.12 read lists and single plugins with libcni 0.6, v1.6 single plugins only. Neither checked for binaries; v1.6 did
not even require a type. If nothing loads, the previous network stays in use (`cni/network_plugins.py`).

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/network/cni/cni.go getDefaultCNINetwork; v1.6
pkg/kubelet/network/cni/cni.go; libcni 0.6 and 0.3 conf.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubesim.cni.conf.directory import EXTENSIONS, conf_files, conf_list_from_any_file, read_file
from kubesim.cni.conf.network_lists import NetworkConfigList, PluginConf, PluginConfig, go_type
from kubesim.cni.spec.types import DNS_TYPE
from kubesim.errors import CniError
from kubesim.golang.json import dumps
from kubesim.golang.structs import BOOL, OBJECT, STRING, Map, Struct, unmarshal
from kubesim.values import value_object

VENDOR_DIR: Final = "/opt/{type}/bin"

_NET_CONF = Struct(
    "types.NetConf",
    {
        "cniVersion": STRING,
        "name": STRING,
        "type": STRING,
        "capabilities": Map(BOOL),
        "ipam": Struct("types.IPAM", {"type": STRING}),
        "dns": DNS_TYPE,
    },
)


@value_object
class Pick:
    """The selected network, and the skipped files with reasons; without a network, the error."""

    network: NetworkConfigList | None = None
    path: str = ""
    skipped: tuple[tuple[str, str], ...] = ()
    error: str = ""


Loader = Callable[[str], NetworkConfigList]


def get_default_cni_network(
    conf_dir: str, load: Loader = conf_list_from_any_file, extensions: Sequence[str] = EXTENSIONS
) -> Pick:
    try:
        files = conf_files(conf_dir, extensions)
    except CniError as error:
        return Pick(error=str(error))
    if not files:
        return Pick(error=f"No networks found in {conf_dir}")
    skipped: list[tuple[str, str]] = []
    for path in files:
        try:
            return Pick(load(path), path, tuple(skipped))
        except CniError as error:
            skipped.append((path, str(error)))
    return Pick(skipped=tuple(skipped), error=f"No valid networks found in {conf_dir}")


def pick_for(profile: str, conf_dir: str) -> Pick:
    """The selection of a kubelet version; skipped files have the reasons that it logged."""
    if profile == "v1.6":
        return get_default_cni_network(conf_dir, load_v1_6, (".conf",))
    return get_default_cni_network(conf_dir, load_v1_12)


def load_v1_12(path: str) -> NetworkConfigList:
    if path.endswith(".conflist"):
        try:
            return _conf_list(read_file(path))
        except CniError as error:
            raise CniError(f"Error loading CNI config list file {path}: {error}") from None
    try:
        conf = _conf(read_file(path))
    except CniError as error:
        raise CniError(f"Error loading CNI config file {path}: {error}") from None
    if not conf.network.type:
        raise CniError(f"Error loading CNI config file {path}: no 'type'; perhaps this is a .conflist?")
    whole = {
        "name": conf.network.name,
        "cniVersion": conf.network.cni_version,
        "plugins": [dict(conf.raw)],
    }
    return _conf_list(dumps(whole).encode())


def load_v1_6(path: str) -> NetworkConfigList:
    """A single plugin; its stdin is the unchanged file."""
    try:
        conf = _conf(read_file(path))
    except CniError as error:
        raise CniError(f"Error loading CNI config file {path}: {error}") from None
    return NetworkConfigList(conf.network.name, conf.network.cni_version, (conf,), conf.source)


def _conf(data: bytes) -> PluginConfig:
    """ConfFromBytes of that version, which does not check the type."""
    try:
        given = unmarshal(_NET_CONF, data)
        raw: Mapping[str, Any] = unmarshal(OBJECT, data) or {}
    except ValueError as error:
        raise CniError(f"error parsing configuration: {error}") from None
    network = PluginConf(
        given.get("type", ""),
        given.get("name", ""),
        given.get("cniVersion", ""),
        given.get("capabilities"),
        given.get("ipam", {}).get("type", ""),
    )
    return PluginConfig(network, raw, data)


def _conf_list(data: bytes) -> NetworkConfigList:
    try:
        raw = unmarshal(OBJECT, data) or {}
    except ValueError as error:
        raise CniError(f"error parsing configuration list: {error}") from None
    if "name" not in raw:
        raise CniError("error parsing configuration list: no name")
    name, version = raw["name"], raw.get("cniVersion", "")
    for key, value in (("name", name), ("cniVersion", version)):
        if not isinstance(value, str):
            raise CniError(f"error parsing configuration list: invalid {key} type {go_type(value)}")
    if "plugins" not in raw:
        raise CniError("error parsing configuration list: no 'plugins' key")
    if not isinstance(raw["plugins"], list):
        raise CniError(f"error parsing configuration list: invalid 'plugins' type {go_type(raw['plugins'])}")
    if not raw["plugins"]:
        raise CniError("error parsing configuration list: no plugins in list")
    plugins = []
    for n, plugin in enumerate(raw["plugins"]):
        try:
            plugins.append(_conf(dumps(plugin).encode()))
        except CniError as error:
            raise CniError(f"Failed to parse plugin config {n}: {error}") from None
    return NetworkConfigList(name, version, tuple(plugins), data)
