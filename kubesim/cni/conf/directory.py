"""Network configurations on disk: the files that are read, their order and content.

Mirrors: containernetworking/cni libcni/conf.go ConfFiles, ConfFromFile, NetworkConfFromFile, LoadNetworkConf
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kubesim.cni.conf.network_lists import (
    NetworkConfigList,
    PluginConfig,
    conf_list_from_conf,
    network_conf_from_bytes,
    plugin_conf_from_bytes,
)
from kubesim.errors import CniError
from kubesim.golang.file_errors import describe_os_error

EXTENSIONS: Final = (".conf", ".conflist", ".json")


def conf_files(directory: str, extensions: Sequence[str]) -> list[str]:
    """The files of a directory with one of the extensions, in byte order; empty if it does not exist."""
    try:
        with os.scandir(directory) as entries:
            names = sorted((e.name for e in entries if not e.is_dir(follow_symlinks=False)), key=os.fsencode)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CniError(describe_os_error("open", error, directory)) from None
    return [os.path.join(directory, name) for name in names if _extension(name) in extensions]


def _extension(name: str) -> str:
    """filepath.Ext: the name from the last dot on, even if that is the first character."""
    at = name.rfind(".")
    return name[at:] if at >= 0 else ""


def read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        operation = "read" if isinstance(error, IsADirectoryError) else "open"
        raise CniError(f"error reading {path}: {describe_os_error(operation, error, path)}") from None


def conf_from_file(path: str) -> PluginConfig:
    return plugin_conf_from_bytes(read_file(path))


def network_conf_from_file(path: str) -> NetworkConfigList:
    """A list with its plugins, including those in the directory with the network's name."""
    conf = network_conf_from_bytes(read_file(path))
    if not conf.load_only_inlined_plugins:
        # As upstream, the name is joined to the path unchecked: `..` works, and an empty name is the directory itself.
        inner = os.path.normpath(os.path.join(os.path.dirname(path), "./" + conf.name))
        conf = replace(conf, plugins=conf.plugins + plugin_confs_from_files(inner))
    if not conf.plugins:
        raise CniError("no plugin configs found")
    return conf


def plugin_confs_from_files(directory: str) -> tuple[PluginConfig, ...]:
    try:
        files = conf_files(directory, (".conf",))
    except CniError as error:
        raise CniError(f"failed to read plugin config files in {directory}: {error}") from None
    return tuple(plugin_conf_from_bytes(read_file(file)) for file in files)


def conf_list_from_any_file(path: str) -> NetworkConfigList:
    """A list, or a single plugin as a list of one, depending on the file's extension."""
    if path.endswith(".conflist"):
        return network_conf_from_file(path)
    return conf_list_from_conf(conf_from_file(path))


def load_network_conf(directory: str, name: str) -> NetworkConfigList:
    """The network with this name: lists first, then single plugins (LoadNetworkConf, which cnitool uses)."""
    lists = conf_files(directory, (".conflist",))
    for path in lists:
        conf = network_conf_from_file(path)
        if conf.name == name:
            return conf
    singles = conf_files(directory, (".conf", ".json"))
    for path in singles:
        single = conf_from_file(path)
        if single.network.name == name:
            return conf_list_from_conf(single)
    if not lists and not singles:
        raise CniError(f"no net configurations found in {directory}")
    raise CniError(f'no net configuration with name "{name}" in {directory}')
