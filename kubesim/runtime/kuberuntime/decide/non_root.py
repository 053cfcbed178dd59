"""runAsNonRoot and runAsUser: the user of a container, checked before its creation.

Mirrors: pkg/kubelet/kuberuntime/security_context_others.go verifyRunAsNonRoot; security_context.go
determineEffectiveSecurityContext; pkg/securitycontext/util.go DetermineEffectiveSecurityContext
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.golang.text import quoted
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.types import ContainerUser

ROOT = ContainerUser()
MAX_USER_ID = (1 << 31) - 1


def verify_run_as_non_root(pod: Pod, container: Container, image_uid: int | None, image_user: str) -> str:
    """The kubelet's error; empty if the user is valid. An image without a user runs as root."""
    if not _effective(pod, container, "runAsNonRoot"):
        return ""
    where = f"(pod: {quoted(format_pod(pod))}, container: {container.name})"
    user = _effective(pod, container, "runAsUser")
    if user is not None:
        return f"container's runAsUser breaks non-root policy {where}" if user == 0 else ""
    if image_uid is None and image_user:
        problem = f"image has non-numeric user ({image_user}), cannot verify user is non-root"
    elif not image_uid:
        problem = "image will run as root"
    elif not 0 <= image_uid <= MAX_USER_ID:
        limits = f"must be between 0 and {MAX_USER_ID}, inclusive"
        problem = f"image has an invalid user id ({image_uid}). (Must be 1-({MAX_USER_ID})): {limits}"
    else:
        return ""
    return f"container has runAsNonRoot and {problem} {where}"


def container_user(pod: Pod, container: Container, image_uid: int | None) -> ContainerUser:
    """The user from the container's or the pod's settings, otherwise from the image."""
    of_pod = pod.spec.security_context
    if not image_uid and not of_pod and not container.security_context:
        return ROOT
    user = _effective(pod, container, "runAsUser")
    group = _effective(pod, container, "runAsGroup")
    of_pod = of_pod or {}
    fs_group = of_pod.get("fsGroup")
    groups = (*(() if fs_group is None else (fs_group,)), *(of_pod.get("supplementalGroups") or ()))
    return ContainerUser((image_uid or 0) if user is None else user, group or 0, groups)


def _effective(pod: Pod, container: Container, field: str) -> Any:
    """The container's setting, otherwise the pod's."""
    own = (container.security_context or {}).get(field)
    return own if own is not None else (pod.spec.security_context or {}).get(field)
