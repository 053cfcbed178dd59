"""May a container run as the user that it would run as? Asked before it is created, if it is not to be root.

Mirrors: pkg/kubelet/kuberuntime/security_context_others.go verifyRunAsNonRoot; pkg/securitycontext/util.go
DetermineEffectiveSecurityContext
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.golang.text import quoted
from kubesim.runtime.kuberuntime.naming import format_pod

MAX_USER_ID = (1 << 31) - 1


def verify_run_as_non_root(pod: Pod, container: Container, image_uid: int | None, image_user: str) -> str:
    """The problem in the kubelet's words; empty if there is none. An image without a user runs as root."""
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


def _effective(pod: Pod, container: Container, field: str) -> Any:
    """The container's own setting, or else the pod's."""
    own = (container.security_context or {}).get(field)
    return own if own is not None else (pod.spec.security_context or {}).get(field)
