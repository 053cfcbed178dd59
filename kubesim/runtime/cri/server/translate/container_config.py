"""ContainerConfig as the runtime's own configuration: a container with what the message says of it.

The ports and the termination message path are those of the annotations that kubelets write.

Mirrors: containerd internal/cri/server/container_create.go buildLinuxSpec; internal/cri/opts/spec_linux_opts.go
withMounts (its checks)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.pod import Container, ContainerPort, ResourceRequirements
from kubesim.api.quantity import BINARY_SI, Quantity
from kubesim.golang.text import quoted
from kubesim.runtime.cri.server.translate.profiles import Seccomp, apparmor_profile, seccomp_profile
from kubesim.runtime.cri.server.translate.sandbox_config import MODES, namespace_options, user_namespace
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.kuberuntime.labels import CONTAINER_PORTS, CONTAINER_TERMINATION_MESSAGE_PATH
from kubesim.runtime.protocol import (
    ContainerConfig,
    LinuxContainerSecurityContext,
    NamespaceOptions,
    SecurityProfile,
)
from kubesim.runtime.types import ContainerMount, ContainerUser, DeviceInfo, RuntimeResources
from kubesim.values import value_object

_PROFILES = {0: "RuntimeDefault", 1: "Unconfined", 2: "Localhost"}
_PRIVATE = 0


@value_object
class ImageFacts:
    """The image of a container: the name by which it was requested, its id, the user that it runs as, its program if
    its name is another; and the seccomp profile."""

    name: str
    id: str
    user: ContainerUser
    command: tuple[str, ...] = ()
    seccomp: Seccomp = Seccomp()


def container_config(message: Any, image: ImageFacts) -> ContainerConfig:
    context = message.linux.security_context
    options = namespace_options(context)
    return ContainerConfig(
        container=_container(message, image),
        attempt=message.metadata.attempt,
        image_ref=image.id,
        labels=dict(message.labels),
        annotations=dict(message.annotations),
        log_path=message.log_path,
        resources=runtime_resources(message.linux.resources),
        env=tuple((each.key, each.value.decode("utf-8", "surrogateescape")) for each in message.envs),
        mounts=tuple(_mount(mount) for mount in message.mounts if not mount.HasField("image")),
        user=image.user,
        stop_signal=_stop_signal(message.stop_signal),
        devices=tuple(DeviceInfo(each.host_path, each.container_path, each.permissions) for each in message.devices),
        cdi_devices=tuple(each.name for each in message.CDI_devices),
        namespaces=NamespaceOptions(
            MODES[options.network],
            MODES[options.pid],
            MODES[options.ipc],
            options.target_id,
            user_namespace(options),
        ),
        security_context=LinuxContainerSecurityContext(
            context.privileged,
            _seccomp(context, image.seccomp),
            _profile(apparmor_profile(context)),
        ),
    )


def container_name(metadata: Any, sandbox: Any) -> str:
    """Mirrors: containerd helpers.go makeContainerName"""
    return f"{metadata.name}_{sandbox.name}_{sandbox.namespace}_{sandbox.uid}_{metadata.attempt}"


def _container(message: Any, image: ImageFacts) -> Container:
    limit = message.linux.resources.memory_limit_in_bytes
    limits: dict[str, str | int | float] = {"memory": str(Quantity(limit, 0, BINARY_SI))} if limit > 0 else {}
    return Container(
        name=message.metadata.name,
        image=image.name,
        command=_expanded(message.command) or (() if message.args else image.command),
        args=_expanded(message.args),
        working_dir=message.working_dir,
        ports=_ports(message.annotations),
        resources=ResourceRequirements(limits=limits),
        volume_mounts=tuple({"name": "", "mountPath": mount.container_path} for mount in message.mounts),
        termination_message_path=message.annotations.get(CONTAINER_TERMINATION_MESSAGE_PATH, ""),
        security_context={"readOnlyRootFilesystem": message.linux.security_context.readonly_rootfs},
        stdin=message.stdin,
        stdin_once=message.stdin_once,
        tty=message.tty,
    )


def _expanded(words: Sequence[str]) -> tuple[str, ...]:
    """The kubelet has expanded the variables; nothing in these words is one."""
    return tuple(word.replace("$", "$$") for word in words)


def _ports(annotations: Mapping[str, str]) -> tuple[ContainerPort, ...]:
    """Those that the container declares; none if the annotation is missing or unreadable."""
    try:
        given = json.loads(annotations.get(CONTAINER_PORTS, "[]"))
    except ValueError:
        return ()
    if not isinstance(given, list) or not all(isinstance(port, dict) for port in given):
        return ()
    return tuple(
        ContainerPort(container_port=port["containerPort"], protocol=str(port.get("protocol", "")))
        for port in given
        if isinstance(port.get("containerPort"), int)
    )


def _mount(mount: Any) -> ContainerMount:
    return ContainerMount(
        "",
        mount.container_path,
        read_only=mount.readonly,
        recursive_read_only=mount.recursive_read_only,
        host_path=mount.host_path,
    )


def mount_problem(mount: Any) -> str:
    """A combination that containerd refuses; empty if it is fine."""
    if mount.HasField("image"):
        return ""
    where = f"(hostPath={quoted(mount.host_path)})"
    if mount.recursive_read_only and not mount.readonly:
        return f"recursive read-only mount conflicts with RW mount {where}"
    if mount.recursive_read_only and mount.propagation != _PRIVATE:
        name = cri_pb2.MountPropagation.Name(mount.propagation)
        return f"recursive read-only mount needs private propagation, got {quoted(name)} {where}"
    return ""


def _stop_signal(number: int) -> str:
    """Empty for the default."""
    return cri_pb2.Signal.Name(number) if number in cri_pb2.Signal.values() and number else ""


def _seccomp(context: Any, loaded: Seccomp) -> SecurityProfile:
    """A profile that is loaded needs no file on the simulated node."""
    profile = _profile(seccomp_profile(context))
    return SecurityProfile("Unconfined") if profile is None or loaded.is_loaded else profile


def _profile(profile: Any) -> SecurityProfile | None:
    return None if profile is None else SecurityProfile(_PROFILES[profile.profile_type], profile.localhost_ref)  # type: ignore[arg-type]


def runtime_resources(linux: Any) -> RuntimeResources:
    """What a container sees of its control group; the rest stays in the message."""
    return RuntimeResources(
        cpuset_cpus=linux.cpuset_cpus, cpuset_mems=linux.cpuset_mems, unified=tuple(linux.unified.items())
    )


def merged_resources(before: Any, update: Any) -> Any:
    """What is not given stays.

    Mirrors: containerd container_update_resources_linux.go updateOCIResource
    """
    merged = cri_pb2.LinuxContainerResources()
    merged.CopyFrom(before)
    merged.MergeFrom(update)
    if update.hugepage_limits:
        del merged.hugepage_limits[:]
        merged.hugepage_limits.extend(update.hugepage_limits)
    return merged
