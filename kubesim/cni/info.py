"""Network status of a runtime: CRI conditions, and the network parts of `crictl info` and `containerd config dump`.

Mirrors: containerd internal/cri/server/status.go, internal/cri/config/config.go CniConfig;
pkg/kubelet/container/runtime.go RuntimeCondition.String
"""

from __future__ import annotations

import json
from typing import Any, Final

from kubesim.cni.gocni import CNI, NetworkDirectories
from kubesim.cni.pod_network import network_not_ready_message
from kubesim.errors import CniError
from kubesim.values import value_object

NETWORK_PLUGIN_NOT_READY: Final = "NetworkPluginNotReady"


@value_object
class RuntimeCondition:
    type: str
    status: bool = True
    reason: str = ""
    message: str = ""

    def __str__(self) -> str:
        """The text that the kubelet prints, for instance in the node's Ready condition."""
        status = "true" if self.status else "false"
        return f"{self.type}={status} reason:{self.reason} message:{self.message}"

    def to_json(self) -> dict[str, Any]:
        return {"message": self.message, "reason": self.reason, "status": self.status, "type": self.type}


def network_condition(problem: CniError | None) -> RuntimeCondition:
    """The NetworkReady condition for the error of `CNI.status`."""
    if problem is None:
        return RuntimeCondition("NetworkReady")
    return RuntimeCondition("NetworkReady", False, NETWORK_PLUGIN_NOT_READY, network_not_ready_message(problem))


async def status_problem(cni: CNI) -> CniError | None:
    try:
        await cni.status()
    except CniError as error:
        return error
    return None


def crictl_info(cni: CNI, problem: CniError | None, last_load_status: str) -> dict[str, Any]:
    conditions = (
        RuntimeCondition("RuntimeReady"),
        network_condition(problem),
        RuntimeCondition("ContainerdHasNoDeprecationWarnings"),
    )
    return {
        "status": {"conditions": [condition.to_json() for condition in conditions]},
        "cniconfig": cni.get_config(),
        "lastCNILoadStatus": last_load_status,
        "lastCNILoadStatus.default": last_load_status,
    }


def config_dump(settings: NetworkDirectories, *, setup_serially: bool, internal_loopback: bool) -> str:
    """The CNI section of `containerd config dump`, in its TOML format."""
    values = {
        "bin_dir": _toml(""),
        "bin_dirs": f"[{', '.join(map(_toml, settings.plugin_dirs))}]",
        "conf_dir": _toml(settings.conf_dir),
        "max_conf_num": str(settings.max_conf_num),
        "setup_serially": str(setup_serially).lower(),
        "conf_template": _toml(""),
        "ip_pref": _toml(""),
        "use_internal_loopback": str(internal_loopback).lower(),
    }
    table = "plugins.'io.containerd.cri.v1.runtime'"
    lines = ["version = 4", "", "[plugins]", f"  [{table}]", f"    [{table}.cni]"]
    return "\n".join([*lines, *(f"      {name} = {value}" for name, value in values.items())])


def _toml(text: str) -> str:
    """A TOML string: literal if possible, as containerd's library writes it."""
    return json.dumps(text) if "'" in text or not text.isprintable() else f"'{text}'"
