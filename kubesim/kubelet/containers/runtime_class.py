"""The runtime handler of a pod's RuntimeClass.

Mirrors: pkg/kubelet/runtimeclass/runtimeclass_manager.go LookupRuntimeHandler
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.features import FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.containers.environment import Find
from kubesim.runtime.helper import SandboxConfigError


def lookup_runtime_handler(pod: Pod, find: Find, gates: FeatureGates) -> str:
    """The handler; empty for the runtime's default. Raises SandboxConfigError if the RuntimeClass does not exist."""
    name = pod.spec.runtime_class_name
    if not name or not gates.enabled("RuntimeClass"):
        return ""
    found = find("RuntimeClass", "", name)
    if found is None:
        raise SandboxConfigError(f"runtimeclass.node.k8s.io {quoted(name)} not found")
    handler: str = found.extra.get("handler", "")
    return handler
