"""The lines of the kubelet's runtime manager and of its CRI client, for decisions and runtime calls.

Mirrors: pkg/kubelet/kuberuntime, k8s.io/cri-client/pkg remote_runtime.go, remote_image.go (v1.36.4)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesim.golang.text import listed
from kubesim.trace import records as r
from kubesim.trace.klog.causes import Causes
from kubesim.trace.klog.line import KlogLine, Ref, error, info

_MANAGER = "kuberuntime/kuberuntime_manager.go"
_CONTAINER = "kuberuntime/kuberuntime_container.go"
_CLIENT = "pkg/remote_runtime.go"

# Call -> the key of its id, and the lines of the request, the response and the failure in remote_runtime.go.
_CALLS = {
    "RunPodSandbox": ("podSandboxID", 226, 250, 237),
    "StopPodSandbox": ("podSandboxID", 259, 271, 267),
    "RemovePodSandbox": ("podSandboxID", 280, 291, 287),
    "CreateContainer": ("podSandboxID", 395, 414, 410),
    "StartContainer": ("containerID", 428, 438, 435),
    "StopContainer": ("containerID", 446, 462, 459),
    "RemoveContainer": ("containerID", 471, 482, 479),
    "UpdateContainerResources": ("containerID", 590, 602, 599),
    "ExecSync": ("containerID", 611, 646, 636),
    "UpdatePodSandboxResources": ("podSandboxID", 749, 758, 755),
}


def decision_lines(record: r.Actions, causes: Causes) -> Iterator[KlogLine]:
    plan, pod = record.decision, Ref(record.pod)
    actions = _actions(plan)
    yield info(f"{_MANAGER}:1480", 3, "computePodActions got for pod", podActions=actions, pod=pod)
    if plan.get("createSandbox") and not plan.get("attempt"):
        message = "SyncPod received new pod, will create a sandbox for it"
        yield info(f"{_MANAGER}:1489", 4, message, pod=pod)
    elif plan.get("killPod"):
        why = "will start new one" if plan.get("createSandbox") else "because all other containers are dead"
        number = 1496 if plan.get("createSandbox") else 1498
        yield info(f"{_MANAGER}:{number}", 4, f"Stopping PodSandbox for pod, {why}", pod=pod)


def _actions(plan: Any) -> str:
    """podActions in Go's format, with container names where the kubelet has indexes and ids."""

    def yes(name: str) -> str:
        return "true" if plan.get(name) else "false"

    def names(name: str) -> str:
        found: Sequence[str] = plan.get(name) or ()
        return listed(found)

    def mapped(name: str) -> str:
        return "map" + names(name)

    return (
        f"KillPod: {yes('killPod')}, CreateSandbox: {yes('createSandbox')}, UpdatePodResources: {yes('resize')}, "
        f"UpdatePodLevelResources: {yes('resizePod')}, Attempt: {plan.get('attempt', 0)}, "
        f"InitContainersToStart: {names('startInit')}, ContainersToStart: {names('start')}, "
        f"EphemeralContainersToStart: {names('startEphemeral')},ContainersToUpdate: {mapped('resize')}, "
        f"ContainersToKill: {mapped('kill')}, ContainersToRemove: {names('reset')}"
    )


def call_lines(record: r.CriCall, causes: Causes) -> Iterator[KlogLine]:
    pod = Ref(record.pod)
    if record.call == "RunPodSandbox":
        yield info(f"{_MANAGER}:1577", 4, "Creating PodSandbox for pod", pod=pod)
    elif record.call == "StopContainer":
        grace = {"gracePeriod": record.args.get("timeout", 0)}
        yield info(f"{_CONTAINER}:910", 2, "Killing container with a grace period", **_stopped(record, causes), **grace)
    elif record.call == "RemoveContainer":
        yield info(f"{_CONTAINER}:1389", 4, "Removing container", containerID=record.args.get("id", ""))
    if record.call in _CALLS:
        _, request, _, _ = _CALLS[record.call]
        yield info(f"{_CLIENT}:{request}", 10, f"[RemoteRuntimeService] {record.call}", **_identity(record))


def return_lines(record: r.CriReturn, causes: Causes) -> Iterator[KlogLine]:
    call = causes.of(record)
    args = _identity(call) if isinstance(call, r.CriCall) else {}
    if record.error:
        yield from _failure(record, args)
        return
    if record.call in _CALLS:
        _, _, response, _ = _CALLS[record.call]
        made = _made(record, args)
        name = record.call if record.call == "CreateContainer" else f"{record.call} Response"
        yield info(f"{_CLIENT}:{response}", 10, f"[RemoteRuntimeService] {name}", **made)
    if record.call == "RunPodSandbox":
        message = "Created PodSandbox for pod"
        yield info(f"{_MANAGER}:1648", 4, message, podSandboxID=record.result, pod=Ref(record.pod))
    elif record.call == "StopContainer" and isinstance(call, r.CriCall):
        yield info(f"{_CONTAINER}:919", 3, "Container exited normally", **_stopped(call, causes))


def _failure(record: r.CriReturn, args: dict[str, Any]) -> Iterator[KlogLine]:
    """The line of a failed call. Only the identity of a sandbox or container is logged, never a command or its
    output."""
    pod = Ref(record.pod)
    if record.call == "PullImage":
        message = "PullImage from image service failed"
        yield error("pkg/remote_image.go:250", record.error, message, **args)
        return
    if record.call not in _CALLS:
        return
    number = _CALLS[record.call][3]
    message = {"CreateContainer": "CreateContainer in sandbox", "ExecSync": "ExecSync cmd"}.get(
        record.call, record.call
    )
    yield error(f"{_CLIENT}:{number}", record.error, f"{message} from runtime service failed", **args)
    if record.call == "RunPodSandbox":
        sandbox = "kuberuntime/kuberuntime_sandbox.go:70"
        yield error(sandbox, record.error, "Failed to create sandbox for pod", pod=pod)
        yield error(f"{_MANAGER}:1640", record.error, "CreatePodSandbox for pod failed", pod=pod)


def _identity(call: r.CriCall) -> dict[str, Any]:
    if call.call == "PullImage":
        return {"image": call.args.get("image", "")}
    key = _CALLS[call.call][0] if call.call in _CALLS else ""
    value = call.args.get("sandbox" if call.call == "CreateContainer" else "id")
    return {key: value} if key and value else {}


def _made(record: r.CriReturn, args: dict[str, Any]) -> dict[str, Any]:
    if record.call == "RunPodSandbox":
        return {"podSandboxID": record.result}
    return {**args, "containerID": record.result} if record.call == "CreateContainer" else args


def _stopped(call: r.CriCall, causes: Causes) -> dict[str, Any]:
    about = {"pod": Ref(call.pod), "podUID": causes.uid(call)}
    return {**about, "containerName": call.container, "containerID": f"containerd://{call.args.get('id', '')}"}
