"""Explains for every file of a configuration directory whether it is loaded, and why not.

The rules are containerd's: byte order, known extensions, the first invalid file stops loading, a maximum number of
files. In addition to loading, it checks that plugin binaries exist, because pods need them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from kubesim.cni.conf.directory import EXTENSIONS, conf_list_from_any_file
from kubesim.cni.conf.network_lists import NetworkConfigList
from kubesim.cni.exec.plugin_files import find_in_path
from kubesim.errors import CniError
from kubesim.values import value_object

FileStatus = Literal["loaded", "bad", "not reached", "ignored"]


@value_object
class FileState:
    """The outcome for one file. `why` is empty if it is loaded."""

    name: str
    state: FileStatus
    why: str = ""
    ifname: str = ""
    network: NetworkConfigList | None = None
    missing: tuple[str, ...] = ()  # plugins without a binary, with the search error


def explain_conf_dir(
    directory: str, bin_dirs: Sequence[str], max_conf_num: int = 1, prefix: str = "eth"
) -> list[FileState]:
    """All entries of the directory, in loading order."""
    try:
        names = sorted(os.listdir(directory), key=os.fsencode)
    except OSError:
        names = []
    found: list[FileState] = []
    loaded, stopped = 0, ""
    for name in names:
        path = os.path.join(directory, name)
        ignored = _why_ignored(path)
        if ignored:
            found.append(FileState(name, "ignored", ignored))
        elif stopped:
            found.append(FileState(name, "not reached", stopped))
        else:
            state = _load(path, f"{prefix}{loaded}", bin_dirs)
            found.append(state)
            loaded += state.state == "loaded"
            if state.state == "bad":
                stopped = f"loading ended at {name}"
            elif loaded == max_conf_num:
                stopped = f"max_conf_num is {max_conf_num}"
    return found


def _why_ignored(path: str) -> str:
    if os.path.isdir(path) and not os.path.islink(path):
        return "a directory (plugins of a network of this name are read from it)"
    extension = os.path.basename(path)[os.path.basename(path).rfind(".") :] if "." in os.path.basename(path) else ""
    return "" if extension in EXTENSIONS else f"the name does not end in {', '.join(EXTENSIONS)}"


def _load(path: str, ifname: str, bin_dirs: Sequence[str]) -> FileState:
    name = os.path.basename(path)
    try:
        network = conf_list_from_any_file(path)
    except CniError as error:
        return FileState(name, "bad", str(error))
    missing = []
    for plugin in network.plugins:
        for binary in filter(None, (plugin.network.type, plugin.network.ipam_type)):
            try:
                find_in_path(binary, bin_dirs)
            except CniError as error:
                missing.append(str(error))
    return FileState(name, "loaded", ifname=ifname, network=network, missing=tuple(dict.fromkeys(missing)))
