"""One-line summaries of CNI commands, and hints about missing permissions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.cni.conf.network_lists import NetworkConfigList

_REFUSED = ("operation not permitted", "permission denied")


def status_summary(network: NetworkConfigList, executions: Sequence[Mapping[str, Any]]) -> str:
    """The summary of a STATUS without errors."""
    if not network.supports("1.1.0"):
        return f"network {network.name}: no plugin was asked: {_too_old(network, 'STATUS')}"
    return f"network {network.name} is ready: {_plugins(executions, 'STATUS')} would accept an ADD"


def gc_summary(network: NetworkConfigList, executions: Sequence[Mapping[str, Any]]) -> str:
    """The summary of a GC: detached attachments, and the plugins that received the valid ones."""
    if network.disable_gc:
        return f"network {network.name}: nothing was done: the configuration has disableGC"
    environs = [each["env"] for each in executions if each["env"].get("CNI_COMMAND") == "DEL"]
    stale = list(dict.fromkeys(f"{each['CNI_CONTAINERID']}/{each['CNI_IFNAME']}" for each in environs))
    detached = f"DEL for {', '.join(stale)}" if stale else "no attachment in the cache had to be detached"
    asked = _plugins(executions, "GC") if network.supports("1.1.0") else ""
    return f"network {network.name}: {detached}; " + (f"GC by {asked}" if asked else _too_old(network, "GC"))


def _too_old(network: NetworkConfigList, command: str) -> str:
    return f"plugins know {command} from version 1.1.0 on, and the network has {network.cni_version or '0.1.0'}"


def _plugins(executions: Sequence[Mapping[str, Any]], command: str) -> str:
    """The plugins of the chain, without those that plugins executed."""
    own = [each for each in executions if not each.get("delegated")]
    return ", ".join(each["plugin"] for each in own if each["env"].get("CNI_COMMAND") == command)


def without_rights(error: str, user: int) -> str:
    """A hint for an error caused by missing root permissions; empty for other errors."""
    if user == 0 or not any(text in error.lower() for text in _REFUSED):
        return ""
    return (
        "; plugins need root: use a network of your own (`unshare -rnm`, then the command), or a private node "
        "(`kubesim run --runtime cni`)"
    )
