"""conf_load: directories of network configurations, and what go-cni loads from them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from kubesim.cni.conf.dockershim import Pick, get_default_cni_network
from kubesim.cni.conf.network_lists import PluginConfig
from kubesim.cni.gocni import CNI, CniNetwork, NetworkDirectories, not_initialized, with_default_conf, with_lo_network
from kubesim.cni.pod_network import network_not_ready_message
from kubesim.conformance.cni_cases import PathNames, ScriptedExec, error_json, fill, judge_either
from kubesim.errors import CniError

judge = judge_either


def play(case: dict[str, Any]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as base:
        conf_dir = Path(base) / "net.d"
        with_lo = case["with_lo"]
        settings = NetworkDirectories(
            conf_dir=str(conf_dir),
            max_conf_num=case["max_conf_num"],
            prefix=case.get("prefix") or "eth",
            min_networks=2 if with_lo else 1,
        )
        cni = CNI(settings, ScriptedExec())
        options = (with_lo_network, with_default_conf) if with_lo else (with_default_conf,)
        path_names = PathNames(CONFDIR=conf_dir)
        out = []
        for state in case["states"]:
            _arrange(case, conf_dir, state)
            error = None
            try:
                cni.load_now(*options)
            except CniError as problem:
                error = problem
            out.append(path_names.hide(_error_json(cni, error)))
        return out


def _arrange(case: dict[str, Any], conf_dir: Path, state: list[dict[str, Any]]) -> None:
    if case.get("dir_is_file"):
        conf_dir.write_text("")
    elif not case.get("no_dir"):
        fill(conf_dir, state)


def _error_json(cni: CNI, error: CniError | None) -> dict[str, Any]:
    out = {
        "error": error_json(error),
        "lastCNILoadStatus": "OK" if error is None else str(error),
        "networks": [_network(network) for network in cni.networks],
        "ready": cni.is_ready,
        "cniconfig": cni.get_config(),
        "dockershim_pick_derived": _pick(cni.settings.conf_dir),
    }
    if not cni.is_ready:
        out["network_ready_message"] = network_not_ready_message(not_initialized())
    return out


def _network(network: CniNetwork) -> dict[str, Any]:
    config = network.config
    return {
        "name": config.name,
        "cniVersion": config.cni_version,
        "ifName": network.ifname,
        "disableCheck": config.disable_check,
        "disableGC": config.disable_gc,
        "loadOnlyInlinedPlugins": config.load_only_inlined_plugins,
        "source": config.source.decode("utf-8", "go-replace"),
        "plugins": [_plugin(plugin) for plugin in config.plugins],
    }


def _plugin(plugin: PluginConfig) -> dict[str, Any]:
    return {
        "type": plugin.network.type,
        "name": plugin.network.name,
        "cniVersion": plugin.network.cni_version,
        "capabilities": plugin.network.capabilities,
        "ipam_type": plugin.network.ipam_type,
        "source": plugin.source.decode("utf-8", "go-replace"),
    }


def _pick(conf_dir: str) -> dict[str, Any]:
    """The choice of the removed kubelet code. The corpus writes its errors with a lower-case initial."""
    pick: Pick = get_default_cni_network(conf_dir)
    skipped = [{"file": os.path.basename(path), "reason": reason} for path, reason in pick.skipped]
    if pick.network is None:
        error = {"error": pick.error[:1].lower() + pick.error[1:]}
        return error | {"skipped": skipped} if skipped else error
    network = pick.network
    picked = {"file": os.path.basename(pick.path), "name": network.name, "cniVersion": network.cni_version}
    return picked | {"skipped": skipped}
