"""The responses of a runtime as the kubelet's types.

Times are nanoseconds there and microseconds here; a time of zero is none.
Mirrors: pkg/kubelet/kuberuntime/kuberuntime_container.go toKubeContainerStatus; kuberuntime_image.go toKubeImage
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kubesim.runtime.cri.client.messages.resources import reported_resources
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.kuberuntime.labels import CONTAINER_NAME, POD_UID
from kubesim.runtime.kuberuntime.naming import container_log_path
from kubesim.runtime.protocol import (
    ContainerEventResponse,
    ContainerEventType,
    ContainerInfo,
    ImageInfo,
    RuntimeConditions,
    RuntimeHandler,
    SandboxInfo,
)
from kubesim.runtime.types import ContainerRuntimeState, ContainerUser, SandboxNetwork

_STATES: Mapping[int, ContainerRuntimeState] = {0: "created", 1: "running", 2: "exited", 3: "unknown"}
_EVENTS: Mapping[int, ContainerEventType] = {
    0: "CONTAINER_CREATED_EVENT",
    1: "CONTAINER_STARTED_EVENT",
    2: "CONTAINER_STOPPED_EVENT",
    3: "CONTAINER_DELETED_EVENT",
}
_NODE = pb.NamespaceMode.Value("NODE")
_READY = pb.PodSandboxState.Value("SANDBOX_READY")


def micros(nanoseconds: int) -> int:
    return nanoseconds // 1000


def listed_sandbox(message: pb.PodSandbox) -> SandboxInfo:
    return _sandbox(message, "POD", None)


def sandbox_status(message: pb.PodSandboxStatus) -> SandboxInfo:
    host = message.linux.namespaces.options.network == _NODE
    network = SandboxNetwork(message.network.ip, tuple(each.ip for each in message.network.additional_ips))
    return _sandbox(message, "NODE" if host else "POD", network)


def _sandbox(message: Any, mode: Literal["POD", "NODE"], network: SandboxNetwork | None) -> SandboxInfo:
    metadata = message.metadata
    return SandboxInfo(
        id=message.id,
        pod_uid=metadata.uid,
        pod_name=metadata.name,
        pod_namespace=metadata.namespace,
        attempt=metadata.attempt,
        ready=message.state == _READY,
        created_at=micros(message.created_at),
        network_namespace=mode,
        network=network,
        labels=dict(message.labels),
        annotations=dict(message.annotations),
    )


def listed_container(message: pb.Container) -> ContainerInfo:
    """A listing has no times but the creation, and no exit code."""
    labels = dict(message.labels)
    name = labels.get(CONTAINER_NAME, message.metadata.name)
    return ContainerInfo(
        id=message.id,
        sandbox_id=message.pod_sandbox_id,
        pod_uid=labels.get(POD_UID, ""),
        name=name,
        attempt=message.metadata.attempt,
        state=_STATES[message.state],
        created_at=micros(message.created_at),
        image=message.image.image,
        image_id=message.image_id,
        image_ref=message.image_ref,
        log_path=container_log_path(name, message.metadata.attempt),
        labels=labels,
        annotations=dict(message.annotations),
    )


def container_status(message: pb.ContainerStatus, sandbox_id: str, termination_message: str = "") -> ContainerInfo:
    """A status does not name the sandbox of the container."""
    labels = dict(message.labels)
    name = labels.get(CONTAINER_NAME, message.metadata.name)
    signal = pb.Signal.Name(message.stop_signal)
    return ContainerInfo(
        id=message.id,
        sandbox_id=sandbox_id,
        pod_uid=labels.get(POD_UID, ""),
        name=name,
        attempt=message.metadata.attempt,
        state=_STATES[message.state],
        created_at=micros(message.created_at),
        started_at=micros(message.started_at) or None,
        finished_at=micros(message.finished_at) or None,
        exit_code=message.exit_code,
        reason=message.reason,
        message=": ".join(text for text in (message.message, termination_message) if text),
        image=message.image.image,
        image_id=message.image_id,
        image_ref=message.image_ref,
        log_path=container_log_path(name, message.metadata.attempt),
        labels=labels,
        annotations=dict(message.annotations),
        resources=reported_resources(message.resources.linux),
        stop_signal="" if signal == "RUNTIME_DEFAULT" else signal,
        user=_user(message),
    )


def _user(message: pb.ContainerStatus) -> ContainerUser | None:
    if not message.HasField("user") or not message.user.HasField("linux"):
        return None
    user = message.user.linux
    return ContainerUser(user.uid, user.gid, tuple(user.supplemental_groups))


def container_event(message: pb.ContainerEventResponse) -> ContainerEventResponse:
    sandbox = message.pod_sandbox_status
    has_sandbox = message.HasField("pod_sandbox_status") and bool(sandbox.id)
    return ContainerEventResponse(
        type=_EVENTS[message.container_event_type],
        container_id=message.container_id,
        created_at=micros(message.created_at),
        sandbox=sandbox_status(sandbox) if has_sandbox else None,
        containers=tuple(container_status(each, sandbox.id) for each in message.containers_statuses),
    )


def image_info(message: pb.Image) -> ImageInfo:
    return ImageInfo(
        id=message.id,
        tags=tuple(message.repo_tags),
        digests=tuple(message.repo_digests),
        size=message.size,
        pinned=message.pinned,
        uid=message.uid.value if message.HasField("uid") else None,
        username=message.username,
    )


def conditions(message: pb.StatusResponse) -> RuntimeConditions:
    """A missing condition counts as false."""
    handlers = tuple(
        RuntimeHandler(handler.name, handler.features.user_namespaces) for handler in message.runtime_handlers
    )
    return RuntimeConditions(
        _problem(message.status, "RuntimeReady"), _problem(message.status, "NetworkReady"), handlers
    )


def _problem(status: pb.RuntimeStatus, name: str) -> str:
    for condition in status.conditions:
        if condition.type == name:
            text = f"{name}=false reason:{condition.reason} message:{condition.message}"
            return "" if condition.status else text
    return f"{name} is not reported"
