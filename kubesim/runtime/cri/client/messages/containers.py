"""The configuration of a container as a message of CRI.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_container.go generateContainerConfig, makeMounts, makeDevices;
kuberuntime_container_linux.go applyPlatformSpecificContainerConfig
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.runtime.cri.client.labels import Owner
from kubesim.runtime.cri.client.machine import MachineFacts
from kubesim.runtime.cri.client.messages.resources import container_message
from kubesim.runtime.cri.client.messages.security import container_security
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.expansion import expand
from kubesim.runtime.protocol import ContainerConfig, ImageInfo, SandboxConfig
from kubesim.runtime.types import ContainerMount
from kubesim.values import value_object

_PROPAGATION = {
    "private": "PROPAGATION_PRIVATE",
    "host to container": "PROPAGATION_HOST_TO_CONTAINER",
    "bidirectional": "PROPAGATION_BIDIRECTIONAL",
}


@value_object
class HostMount:
    """A mount with its path on this machine; of an image volume, with the image instead."""

    mount: ContainerMount
    host_path: str
    image: str = ""


def container_config_message(
    config: ContainerConfig,
    sandbox: SandboxConfig,
    owner: Owner,
    machine: MachineFacts,
    mounts: Iterable[HostMount],
    image: ImageInfo | None,
) -> pb.ContainerConfig:
    container, pod, env = config.container, sandbox.pod, dict(config.env)
    uid, user = image_user(image)
    message = pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name=container.name, attempt=config.attempt),
        image=pb.ImageSpec(image=config.image_ref, user_specified_image=container.image),
        command=[expand(word, env) for word in container.command],
        args=[expand(word, env) for word in container.args],
        working_dir=container.working_dir,
        labels=owner.added(config.labels),
        annotations=owner.annotated(config.annotations),
        envs=[pb.KeyValue(key=name, value=value.encode()) for name, value in config.env],
        log_path=config.log_path,
        stdin=container.stdin,
        stdin_once=container.stdin_once,
        tty=container.tty,
        linux=pb.LinuxContainerConfig(
            resources=container_message(pod, container, config.resources, machine),
            security_context=container_security(pod, config, uid, user),
        ),
    )
    if config.stop_signal:
        message.stop_signal = pb.Signal.Value(config.stop_signal)
    for device in config.devices:
        message.devices.add(
            host_path=device.path_on_host, container_path=device.path_in_container, permissions=device.permissions
        )
    for name in config.cdi_devices:
        message.CDI_devices.add(name=name)
    users = message.linux.security_context.namespace_options.userns_options
    for given in mounts:
        mount = mount_message(given)
        if given.image:
            mount.image.user_specified_image = given.image
            mount.image.annotations.update(pod.metadata.annotations)
            mount.image.runtime_handler = sandbox.runtime_handler
        mount.uidMappings.extend(users.uids)
        mount.gidMappings.extend(users.gids)
        message.mounts.append(mount)
    return message


def image_user(image: ImageInfo | None) -> tuple[int | None, str]:
    """The user that an image names, by number or else by name; root if it names none (getImageUser)."""
    if image is not None and image.uid is not None:
        return image.uid, ""
    return (0, "") if image is None or not image.username else (None, image.username)


def mount_message(given: HostMount) -> pb.Mount:
    mount = given.mount
    message = pb.Mount(
        container_path=mount.container_path,
        host_path=given.host_path,
        readonly=mount.read_only,
        recursive_read_only=mount.recursive_read_only,
        propagation=pb.MountPropagation.Value(_PROPAGATION[mount.propagation]),
    )
    if given.image:
        message.image.image = given.image
        message.image_sub_path = mount.sub_path
    return message
