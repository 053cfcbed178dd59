"""What a runtime tells about its network: CRI conditions, and the part of `crictl info` that is about CNI.

Mirrors: containerd internal/cri/server/status.go; pkg/kubelet/container/runtime.go RuntimeCondition.String
"""

from __future__ import annotations

from typing import Any, Final

from kubesim.cni.gocni import CNI
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
        """As the kubelet prints it, in the node's Ready condition for instance."""
        status = "true" if self.status else "false"
        return f"{self.type}={status} reason:{self.reason} message:{self.message}"

    def to_json(self) -> dict[str, Any]:
        return {"message": self.message, "reason": self.reason, "status": self.status, "type": self.type}


def network_condition(problem: CniError | None) -> RuntimeCondition:
    """NetworkReady, from what `CNI.status` raised."""
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
