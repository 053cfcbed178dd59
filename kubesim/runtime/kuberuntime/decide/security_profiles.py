"""The seccomp and AppArmor profiles that the kubelet passes to the runtime.

Used at container creation and by AppArmor admission. The container's profile overrides its annotation (AppArmor only),
which overrides the pod's profile. The runtime checks whether a Localhost profile exists.

Mirrors: pkg/kubelet/kuberuntime/helpers.go getSeccompProfile, fieldSeccompProfile, getAppArmorProfile;
pkg/security/apparmor/helpers.go GetProfile
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.golang.text import quoted
from kubesim.runtime.helper import ContainerConfigError
from kubesim.runtime.protocol import LinuxContainerSecurityContext, SecurityProfile

APP_ARMOR_ANNOTATION_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_PROFILE_ROOT = "/var/lib/kubelet/seccomp"
RUNTIME_DEFAULT = SecurityProfile("RuntimeDefault")
UNCONFINED = SecurityProfile("Unconfined")

_LOCALHOST_PREFIX = "localhost/"
_Profile = Mapping[str, Any]


def security_context_of(pod: Pod, container: Container) -> LinuxContainerSecurityContext | None:
    """The container's security context for CRI; None if it is empty. Raises ContainerConfigError."""
    own, of_pod = container.security_context, pod.spec.security_context
    if not own and not of_pod and f"{APP_ARMOR_ANNOTATION_PREFIX}{container.name}" not in pod.metadata.annotations:
        return None
    return LinuxContainerSecurityContext(
        privileged=bool((own or {}).get("privileged")),
        seccomp=seccomp_profile(pod, container),
        apparmor=app_armor_profile(pod, container),
    )


def seccomp_profile(pod: Pod, container: Container) -> SecurityProfile:
    """The container's profile, otherwise the pod's; without one, unconfined."""
    profile = (container.security_context or {}).get("seccompProfile")
    if profile is None:
        profile = (pod.spec.security_context or {}).get("seccompProfile")
    if profile is None:
        return UNCONFINED
    if profile.get("type") == "RuntimeDefault":
        return RUNTIME_DEFAULT
    if profile.get("type") != "Localhost":
        return UNCONFINED
    name = profile.get("localhostProfile")
    if not name:
        raise ContainerConfigError("localhostProfile must be set if seccompProfile type is Localhost.")
    return SecurityProfile("Localhost", posixpath.normpath(f"{SECCOMP_PROFILE_ROOT}/{name}"))


def app_armor_profile(pod: Pod, container: Container) -> SecurityProfile | None:
    """The profile; None: the runtime applies its default where AppArmor is enabled."""
    profile = get_app_armor_profile(pod, container)
    if profile is None:
        return None
    match profile.get("type", ""):
        case "RuntimeDefault":
            return RUNTIME_DEFAULT
        case "Unconfined":
            return UNCONFINED
        case "Localhost":
            name = profile.get("localhostProfile")
            if name is None:
                raise ContainerConfigError("missing localhost apparmor profile name")
            return SecurityProfile("Localhost", name)
        case other:
            raise ContainerConfigError(f"unknown apparmor profile type: {quoted(other)}")


def get_app_armor_profile(pod: Pod, container: Container) -> _Profile | None:
    """The profile of the container, its annotation or its pod."""
    own: _Profile | None = (container.security_context or {}).get("appArmorProfile")
    if own is not None:
        return own
    annotated = _annotated(pod.metadata.annotations.get(f"{APP_ARMOR_ANNOTATION_PREFIX}{container.name}"))
    if annotated is not None:
        return annotated
    of_pod: _Profile | None = (pod.spec.security_context or {}).get("appArmorProfile")
    return of_pod


def _annotated(value: str | None) -> _Profile | None:
    """The profile of the annotation: a static pod may have only that. Invalid values are ignored."""
    if value == "runtime/default":
        return {"type": "RuntimeDefault"}
    if value == "unconfined":
        return {"type": "Unconfined"}
    if value is not None and value.startswith(_LOCALHOST_PREFIX):
        return {"type": "Localhost", "localhostProfile": value.removeprefix(_LOCALHOST_PREFIX)}
    return None
