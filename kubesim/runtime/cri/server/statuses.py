"""Statuses and listings: the client's own messages with the runtime's states. Pure.

Mirrors: containerd internal/cri/server sandbox_status.go toCRISandboxStatus, container_status.go toCRIContainerStatus,
sandbox_list.go toCRISandbox, container_list.go toCRIContainer
"""

from __future__ import annotations

import json
from typing import Any

from google.protobuf.json_format import MessageToDict

from kubesim.runtime.cri.server.images.image_list import ListedImage
from kubesim.runtime.cri.server.store import ServedContainer, ServedSandbox
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.protocol import ContainerInfo, SandboxInfo

START_ERROR = "StartError"
_READY, _NOT_READY = "SANDBOX_READY", "SANDBOX_NOTREADY"
_NANO = 1000  # nanoseconds in a microsecond


def state_name(info: ContainerInfo) -> str:
    return f"CONTAINER_{info.state.upper()}"


def sandbox_status(info: SandboxInfo, served: ServedSandbox | None) -> Any:
    """`served` is None while the sandbox is being created."""
    status = cri_pb2.PodSandboxStatus(
        id=info.id,
        metadata=_sandbox_metadata(info),
        state=_READY if info.ready else _NOT_READY,
        created_at=info.created_at * _NANO,
        labels=info.labels,
        annotations=info.annotations,
    )
    network = info.network
    status.network.SetInParent()
    if network is not None and info.network_namespace != "NODE":
        status.network.ip = network.ip
        status.network.additional_ips.extend(cri_pb2.PodIP(ip=ip) for ip in network.additional_ips)
    status.linux.namespaces.SetInParent()
    if served is not None:
        status.runtime_handler = served.runtime_handler
        context = served.message.linux.security_context
        if context.HasField("namespace_options"):
            status.linux.namespaces.options.CopyFrom(context.namespace_options)
    return status


def _sandbox_metadata(info: SandboxInfo) -> Any:
    return cri_pb2.PodSandboxMetadata(
        name=info.pod_name, uid=info.pod_uid, namespace=info.pod_namespace, attempt=info.attempt
    )


def listed_sandbox(info: SandboxInfo, served: ServedSandbox | None) -> Any:
    return cri_pb2.PodSandbox(
        id=info.id,
        metadata=_sandbox_metadata(info),
        state=_READY if info.ready else _NOT_READY,
        created_at=info.created_at * _NANO,
        labels=info.labels,
        annotations=info.annotations,
        runtime_handler="" if served is None else served.runtime_handler,
    )


def container_status(info: ContainerInfo, served: ServedContainer | None, image: ListedImage | None) -> Any:
    """`image` is None if it was removed."""
    status = cri_pb2.ContainerStatus(
        id=info.id,
        metadata=cri_pb2.ContainerMetadata(name=info.name, attempt=info.attempt),
        state=state_name(info),
        created_at=info.created_at * _NANO,
        exit_code=info.exit_code,
        reason=info.reason,
        message=info.message if info.reason == START_ERROR else "",
        labels=info.labels,
        annotations=info.annotations,
        image_ref=info.image_ref,
        image_id=info.image_id,
        stop_signal=_signal(info.stop_signal),
    )
    if info.state != "created":
        status.started_at = (info.started_at or 0) * _NANO
        status.finished_at = 0 if info.state == "running" else (info.finished_at or 0) * _NANO
    if info.user is not None:
        status.user.linux.uid, status.user.linux.gid = info.user.uid, info.user.gid
        status.user.linux.supplemental_groups.extend(info.user.supplemental_groups)
    if served is not None:
        status.image.CopyFrom(served.message.image)
        status.log_path = served.log_path
        status.mounts.extend(served.message.mounts)
        status.resources.linux.CopyFrom(served.resources)
    if image is not None:
        if image.tags:
            status.image.CopyFrom(cri_pb2.ImageSpec(image=image.tags[0]))
        if image.digests:
            status.image_ref = image.digests[0]
    return status


def _signal(name: str) -> str:
    return name if name in cri_pb2.Signal.keys() else "SIGTERM"  # noqa: SIM118 (it is no mapping)


def listed_container(info: ContainerInfo, served: ServedContainer | None) -> Any:
    return cri_pb2.Container(
        id=info.id,
        pod_sandbox_id=info.sandbox_id,
        metadata=cri_pb2.ContainerMetadata(name=info.name, attempt=info.attempt),
        image=None if served is None else served.message.image,
        image_ref=info.image_ref,
        image_id=info.image_id,
        state=state_name(info),
        created_at=info.created_at * _NANO,
        labels=info.labels,
        annotations=info.annotations,
    )


def verbose_sandbox(info: SandboxInfo, served: ServedSandbox) -> dict[str, str]:
    shown = {
        "pid": 0,
        "processStatus": "running" if info.ready else "deleted",
        "netNamespaceClosed": not info.ready,
        "image": "registry.k8s.io/pause:3.10.1",
        "runtimeHandler": served.runtime_handler,
        "runtimeType": "io.containerd.runc.v2",
        "config": _json(served.message),
    }
    for name in ("overhead", "resources"):
        if (value := getattr(served, name)) is not None:
            shown[name] = {"linux": _json(value)}
    return {"info": json.dumps(shown)}


def verbose_container(info: ContainerInfo, served: ServedContainer) -> dict[str, str]:
    shown = {
        "sandboxID": info.sandbox_id,
        "pid": 0,
        "removing": served.removing,
        "snapshotter": "overlayfs",
        "runtimeType": "io.containerd.runc.v2",
        "config": _json(served.message),
    }
    return {"info": json.dumps(shown)}


def _json(message: Any) -> Any:
    return MessageToDict(message, preserving_proto_field_name=True)
