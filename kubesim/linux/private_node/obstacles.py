"""Reasons why a private node cannot be created on this machine, with remedies. Pure; `holder_client.py` reads the
settings.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Final

MOST = "user.max_user_namespaces"
CLONE = "kernel.unprivileged_userns_clone"
APPARMOR = "kernel.apparmor_restrict_unprivileged_userns"
SETTINGS: Final = (MOST, CLONE, APPARMOR)

_OTHERWISE = "or use --runtime simulated, which has no requirements"


def no_private_node(step: str, problem: str, settings: Mapping[str, str]) -> str:
    """One line for the user. `settings` are the existing sysctls of this machine."""
    remedy = _remedy(step, problem, settings)
    return f"no private node for real pod networks: {step}: {problem}; {remedy}, {_OTHERWISE}"


def _remedy(step: str, problem: str, settings: Mapping[str, str]) -> str:
    if problem == os.strerror(errno.ENOSYS):
        return "the kernel is too old: kubesim needs Linux 5.12 or later"
    if settings.get(MOST) == "0":
        return f"user namespaces are switched off: sysctl {MOST}=10000 as root allows them"
    if settings.get(CLONE) == "0":
        return f"only root may create user namespaces here: sysctl {CLONE}=1 as root allows them"
    if settings.get(APPARMOR) == "1":
        return (
            f"AppArmor restricts user namespaces of programs without a profile: sysctl {APPARMOR}=0 as root, or a "
            "profile for this Python, allows them"
        )
    if "/proc" in step:
        return "/proc is partly hidden, as in most containers: give this container an unmasked one (docker run --security-opt systempaths=unconfined)"  # noqa: E501
    return "something forbids it, as the seccomp profile of a container does: allow unshare and mount there"
