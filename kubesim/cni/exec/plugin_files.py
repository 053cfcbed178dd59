"""Search for plugin binaries, and errors of failed plugins. Few imports: plugins themselves use it too.

Mirrors: containernetworking/cni pkg/invoke/find.go, raw_exec.go pluginErr
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from kubesim.errors import CniError, PluginError
from kubesim.golang.structs import STRING, UINT, Struct, unmarshal_what_fits
from kubesim.golang.text import listed, quoted, quoted_bytes

_ERROR = Struct("types.Error", {"code": UINT, "msg": STRING, "details": STRING})


def find_in_path(plugin: str, paths: Sequence[str]) -> str:
    """The first regular file with that name; it need not be executable."""
    if not plugin:
        raise CniError("no plugin name provided")
    if "/" in plugin:
        raise CniError(f"invalid plugin name: {plugin}")
    if not paths:
        raise CniError("no paths provided")
    for path in paths:
        whole = os.path.join(path, plugin)
        try:
            if stat.S_ISREG(os.stat(whole).st_mode):
                return os.path.normpath(whole)
        except (OSError, ValueError):
            continue
    raise CniError(f"failed to find plugin {quoted(plugin)} in path {listed(paths)}")


def plugin_failure(how: str, stdout: bytes, stderr: bytes) -> PluginError:
    """The error of a failed plugin; `how` is Go's description of its end: `exit status 1`."""
    if not stdout:
        if not stderr:
            return PluginError(0, f"netplugin failed with no error message: {how}")
        return PluginError(0, f"netplugin failed: {quoted_bytes(stderr)}")
    said, error = unmarshal_what_fits(_ERROR, stdout)
    message = said.get("msg", "")
    if error is not None:
        message = f"netplugin failed but error parsing its diagnostic message {quoted_bytes(stdout)}: {error}"
    return PluginError(said.get("code", 0), message, said.get("details", ""))
