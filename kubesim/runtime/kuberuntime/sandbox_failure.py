"""The sync's result for a sandbox that could not be created. Pure.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod (step 4); kubelet v1.6
pkg/kubelet/dockertools/docker_manager.go SyncPod
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.errors import KubesimError
from kubesim.features.rules import Rules
from kubesim.golang.text import quoted
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.kuberuntime.results import (
    CREATE_POD_SANDBOX_ERROR,
    RUN_CONTAINER_ERROR,
    SETUP_NETWORK_ERROR,
    SyncAction,
)
from kubesim.runtime.protocol import SetupNetworkFailed
from kubesim.values import value_object


@value_object
class SandboxFailure:
    """The result of the action, and the message of the Event FailedCreatePodSandBox; empty: no Event."""

    action: SyncAction
    target: str
    error: str
    message: str
    event: str = ""


def sandbox_failure(rules: Rules, pod: Pod, what: str, error: KubesimError) -> SandboxFailure:
    """The failure; dockertools emitted no Event about sandboxes."""
    if rules.sandbox_order == "dockertools":
        if isinstance(error, SetupNetworkFailed):
            full_name = f"{pod.metadata.name}_{pod.metadata.namespace}"
            return SandboxFailure("SetupNetwork", full_name, SETUP_NETWORK_ERROR, str(error))
        return SandboxFailure("StartContainer", "POD", RUN_CONTAINER_ERROR, str(error))
    message = f"{what} for pod {quoted(format_pod(pod))}: {error}"
    event = f"{rules.failed_sandbox_event}: {error}"
    return SandboxFailure("CreatePodSandbox", format_pod(pod), CREATE_POD_SANDBOX_ERROR, message, event)
