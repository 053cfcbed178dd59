"""Checks the AppArmor and seccomp profiles of a container against those of the node.

CreateContainer calls it, after the sandbox exists; the messages are containerd's.

Mirrors: containerd internal/cri/sputil apparmor_linux.go, seccomp_linux.go; contrib/seccomp WithProfile;
internal/cri/server/container_create.go createContainer
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from kubesim.golang.text import quoted
from kubesim.runtime.protocol import LinuxContainerSecurityContext, SecurityProfile
from kubesim.values import value_object

_LOCALHOST_PREFIX = "localhost/"


@value_object
class SecurityProfiles:
    """Profiles on the node. Names and paths may be globs; paths of seccomp profiles are absolute."""

    app_armor_enabled: bool = True
    app_armor: tuple[str, ...] = ()
    seccomp: tuple[str, ...] = ()


NO_PROFILES = SecurityProfiles()


def security_problem(context: LinuxContainerSecurityContext, node: SecurityProfiles) -> str:
    """Why the container cannot be created; empty if it can."""
    problem = _app_armor_problem(context.apparmor, node)
    if problem:
        return f"failed to get container spec opts: failed to generate apparmor spec opts: {problem}"
    if context.privileged or context.seccomp.profile_type != "Localhost":
        return ""
    path = context.seccomp.localhost_ref.removeprefix(_LOCALHOST_PREFIX)
    if _has(node.seccomp, path):
        return ""
    problem = f"cannot load seccomp profile {quoted(path)}: open {path}: no such file or directory"
    return f"failed to create containerd container: {problem}"


def _app_armor_problem(profile: SecurityProfile | None, node: SecurityProfiles) -> str:
    if profile is None or profile.profile_type == "Unconfined":
        return ""
    if not node.app_armor_enabled:
        return "apparmor is not supported"
    if profile.profile_type != "Localhost":
        return ""
    name = profile.localhost_ref.removeprefix(_LOCALHOST_PREFIX)
    if not name:
        return "failed to generate apparmor spec opts: nil apparmor profile is not supported"
    return "" if _has(node.app_armor, name) else f"apparmor profile not found {name}"


def _has(known: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in known)
