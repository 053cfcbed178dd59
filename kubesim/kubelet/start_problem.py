"""The state files that keep a kubelet from starting when they are damaged.

Damage to other files is tolerated: device allocations and the health of DRA devices are dropped
(devicemanager/manager.go Start, dra/healthinfo.go newHealthInfoCache), bootstrap checkpoints are skipped, and an image
with an unreadable pull record is pulled again (images/pullmanager MustAttemptImagePull).

Mirrors: pkg/kubelet/allocation newStateImpl (which panics); kuberuntime_manager.go NewKubeGenericRuntimeManager; cm
NewContainerManager and Start; userns MakeUserNsManager
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kubesim.features import FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.sandbox.userns import GATE, parse_mappings
from kubesim.runtime.helper import SandboxConfigError

DIRECTORY = "/var/lib/kubelet/"
CUT_OFF = "unexpected end of JSON input"  # Go's error for a truncated JSON text
_CHECKPOINT = (
    f"could not restore state from checkpoint: {CUT_OFF}, please drain this node and delete {{what}} checkpoint file "
    f'"{DIRECTORY}{{name}}" before restarting Kubelet'
)


def start_problem(
    damaged: Collection[str],
    user_namespaces: Mapping[str, str],
    managers: ResourceManagerSettings,
    gates: FeatureGates,
) -> str:
    """The error that the kubelet logs before it exits; empty if it starts. Files are checked in the kubelet's order."""
    if "dra_manager_state" in damaged and gates.enabled("DynamicResourceAllocation"):
        cache = "create ResourceClaim cache: GetOrCreate() on checkpoint state"
        return f"{cache}: failed to get checkpoint dra_manager_state: {CUT_OFF}"
    if "allocated_pods_state" in damaged and gates.enabled("InPlacePodVerticalScaling"):
        return _of_checkpoint("pod resource information", "allocated_pods_state")
    if "actuated_pods_state" in damaged:
        problem = _of_checkpoint("pod resource information", "actuated_pods_state")
        return f"failed to initialize actuated state checkpoint: {problem}"
    for uid, text in user_namespaces.items() if gates.enabled(GATE) else ():
        try:
            parse_mappings(text)
        except SandboxConfigError as error:
            return f"create user namespace manager: record pod mappings for existing pod {quoted(uid)}: {error}"
    if "cpu_manager_state" in damaged and managers.cpu_policy != "none":
        return f"start cpu manager error: {_of_checkpoint('the CPU manager', 'cpu_manager_state')}"
    if "memory_manager_state" in damaged and managers.memory_policy != "None":
        return f"start memory manager error: {_of_checkpoint('the memory manager', 'memory_manager_state')}"
    return ""


def _of_checkpoint(what: str, name: str) -> str:
    return _CHECKPOINT.format(what=what, name=name)
