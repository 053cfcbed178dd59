"""Security contexts as messages of CRI.

Mirrors: pkg/kubelet/kuberuntime/security_context.go determineEffectiveSecurityContext,
convertToRuntimeSecurityContext; kuberuntime_sandbox.go generatePodSandboxLinuxConfig; pkg/securitycontext/util.go
"""

from __future__ import annotations

from collections.abc import Mapping
from glob import glob
from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.protocol import ContainerConfig, IdMapping, NamespaceOptions, SandboxConfig, SecurityProfile

_MASKED = (
    "/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
    "/sys/devices/virtual/powercap",
)  # fmt: skip
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_UNCONFINED = SecurityProfile("Unconfined")
_INHERITED = ("runAsUser", "runAsGroup", "seLinuxOptions")
_BETA_PROFILES = {"RuntimeDefault": "runtime/default", "Unconfined": "unconfined"}


def sandbox_security(config: SandboxConfig) -> pb.LinuxSandboxSecurityContext:
    pod = config.pod
    message = pb.LinuxSandboxSecurityContext(
        privileged=any(_of(container).get("privileged") for container in _all_containers(pod)),
        seccomp=profile_message(SecurityProfile("RuntimeDefault")),
        namespace_options=namespace_message(config.linux.namespaces),
    )
    given = pod.spec.security_context or {}
    _set_ids(message, given)
    message.supplemental_groups.extend(_groups(given))
    _set_policy(message, given)
    _set_selinux(message, given)
    return message


def _all_containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers)


def container_security(
    pod: Pod, config: ContainerConfig, image_uid: int | None, image_user: str
) -> pb.LinuxContainerSecurityContext:
    """`image_uid` and `image_user` are of the image: the user if nothing else is requested."""
    of_pod, own = pod.spec.security_context or {}, _of(config.container)
    effective: dict[str, Any] = {name: of_pod[name] for name in _INHERITED if name in of_pod}
    effective.update({name: value for name, value in own.items() if value is not None})
    requested = config.security_context
    message = pb.LinuxContainerSecurityContext(
        namespace_options=namespace_message(config.namespaces),
        privileged=bool(effective.get("privileged")),
        readonly_rootfs=bool(effective.get("readOnlyRootFilesystem")),
        no_new_privs=effective.get("allowPrivilegeEscalation") is False,
        seccomp=profile_message(_UNCONFINED if requested is None else requested.seccomp),
    )
    if (given := effective.get("capabilities")) is not None:
        capabilities = pb.Capability(add_capabilities=given.get("add"), drop_capabilities=given.get("drop"))
        message.capabilities.CopyFrom(capabilities)
    _set_ids(message, effective)
    if effective.get("runAsUser") is None:
        if image_uid is not None:
            message.run_as_user.value = image_uid
        message.run_as_username = image_user
    if requested is not None and requested.apparmor is not None:
        message.apparmor.CopyFrom(profile_message(requested.apparmor))
        message.apparmor_profile = _beta_profile(requested.apparmor)
    message.supplemental_groups.extend(_groups(of_pod))
    _set_policy(message, of_pod)
    _set_selinux(message, effective)
    if effective.get("procMount") != "Unmasked":
        message.masked_paths.extend((*_MASKED, *_thermal_throttles()))
        message.readonly_paths.extend(_READ_ONLY)
    return message


def _of(container: Container) -> Mapping[str, Any]:
    return container.security_context or {}


def _set_ids(message: Any, given: Mapping[str, Any]) -> None:
    if given.get("runAsUser") is not None:
        message.run_as_user.value = given["runAsUser"]
    if given.get("runAsGroup") is not None:
        message.run_as_group.value = given["runAsGroup"]


def _groups(given: Mapping[str, Any]) -> list[int]:
    fs_group = given.get("fsGroup")
    return [*([] if fs_group is None else [fs_group]), *(given.get("supplementalGroups") or ())]


def _set_policy(message: Any, given: Mapping[str, Any]) -> None:
    if policy := given.get("supplementalGroupsPolicy"):
        message.supplemental_groups_policy = pb.SupplementalGroupsPolicy.Value(policy)


def _set_selinux(message: Any, given: Mapping[str, Any]) -> None:
    if (options := given.get("seLinuxOptions")) is not None:
        names = ("user", "role", "type", "level")
        message.selinux_options.CopyFrom(pb.SELinuxOption(**{name: options.get(name, "") for name in names}))


def profile_message(profile: SecurityProfile) -> pb.SecurityProfile:
    kind = pb.SecurityProfile.ProfileType.Value(profile.profile_type)
    return pb.SecurityProfile(profile_type=kind, localhost_ref=profile.localhost_ref)


def _beta_profile(profile: SecurityProfile) -> str:
    """In the format of the old annotation, for runtimes that know only that."""
    return _BETA_PROFILES.get(profile.profile_type, f"localhost/{profile.localhost_ref}")


def namespace_message(options: NamespaceOptions) -> pb.NamespaceOption:
    mode = pb.NamespaceMode.Value
    message = pb.NamespaceOption(
        network=mode(options.network), pid=mode(options.pid), ipc=mode(options.ipc), target_id=options.target_id
    )
    users = options.users
    if users is not None:
        message.userns_options.mode = mode(users.mode)
        message.userns_options.uids.extend(map(_mapping, users.uids))
        message.userns_options.gids.extend(map(_mapping, users.gids))
    return message


def _mapping(mapping: IdMapping) -> pb.IDMapping:
    return pb.IDMapping(host_id=mapping.host_id, container_id=mapping.container_id, length=mapping.length)


def _thermal_throttles() -> list[str]:
    """Of the processors of this machine, also of those that are off."""
    found = glob("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle")
    return sorted(found, key=lambda path: (len(path), path))
