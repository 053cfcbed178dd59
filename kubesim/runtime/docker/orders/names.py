"""Names of sandbox containers, and docker's name conflicts. Pure.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/naming.go, helpers.go recoverFromCreationConflictIfNeeded
"""

from __future__ import annotations

import re
from typing import Final

from kubesim.golang.text import quoted

SANDBOX: Final = "POD"  # the container name of a sandbox
_CONFLICT = re.compile(r"Conflict. (?:.)+ is already in use by container ([0-9a-z]+)")


def make_sandbox_name(name: str, namespace: str, uid: str, attempt: int) -> str:
    """The container name; docker rejects a second sandbox of the same attempt because of it."""
    return "_".join(("k8s", SANDBOX, name, namespace, uid, str(attempt)))


def randomize_name(name: str, number: int) -> str:
    """The name with a random suffix; `number` has 32 bits."""
    return f"{name}_{number:08x}"


def conflict(name: str, holder: str) -> str:
    """Docker's error for a name in use."""
    return (
        f"Error response from daemon: Conflict. The name {quoted(f'/{name}')} is already in use by container {holder}. "
        "You have to remove (or rename) that container to be able to reuse that name."
    )


def conflicting_container(error: str) -> str:
    """The id of the container that has the name; empty for any other error."""
    found = _CONFLICT.search(error)
    return found[1] if found else ""


def no_such_container(identifier: str) -> str:
    return f"Error: No such container: {identifier}"
