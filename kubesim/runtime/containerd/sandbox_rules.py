"""Rules for undoing a failed RunPodSandbox in containerd's order. Pure.

Upstream uses a series of deferred functions, which run in reverse order; each checks whether an earlier one failed. A
critical failure (network, namespace, the sandbox itself) stops the undoing: the sandbox is kept as UNKNOWN with its
name reserved, so that the kubelet's next sync finds and stops it.

Mirrors: containerd internal/cri/server/sandbox_run.go RunPodSandbox (its defers)
"""

from __future__ import annotations

from typing import Final, Literal

from kubesim.golang.text import quoted
from kubesim.runtime.protocol import UserNamespace

Action = Literal[
    "shut down sandbox",
    "delete task",
    "clean up files",
    "remove volatile directory",
    "remove root directory",
    "tear down network",
    "remove namespace",
    "keep as unknown",
    "delete metadata",
    "delete lease",
    "release name",
]
_FILES: Final = frozenset[Action](("clean up files", "remove volatile directory", "remove root directory"))
_ALWAYS: Final = _FILES | {"shut down sandbox", "delete task", "delete lease"}


def is_due(action: Action, dirty: bool) -> bool:
    """Whether to undo the action. `dirty`: an earlier one could not be undone."""
    return action in _ALWAYS or (action == "keep as unknown") == dirty


def makes_dirty(action: Action, *, has_network: bool) -> bool:
    """Whether a failure of this action counts. Tear-down errors of a network that never came up are ignored."""
    if action == "tear down network":
        return has_network
    return action != "delete lease" and action not in _FILES


def user_namespace_problem(user_namespace: UserNamespace) -> str:
    """Why a network namespace cannot be created in a user namespace; empty if it can."""
    if user_namespace.mode != "POD":
        return "required pod-level user namespace setting"
    for kind, mappings in (("uid", user_namespace.uids), ("gid", user_namespace.gids)):
        if len(mappings) != 1:
            return f"required only one {kind} mapping, but got {len(mappings)} {kind} mapping(s)"
    return ""


def make_sandbox_name(name: str, namespace: str, uid: str, attempt: int) -> str:
    return "_".join((name, namespace, uid, str(attempt)))


class NameIndex:
    """Sandbox names and their owners."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}

    def reserve(self, name: str, key: str) -> str:
        """Reserve a name; returns an error if another object has it."""
        holder = self._by_name.setdefault(name, key)
        return "" if holder == key else f"name {quoted(name)} is reserved for {quoted(holder)}"

    def release(self, key: str) -> None:
        """The owner of this key."""
        self._by_name = {name: holder for name, holder in self._by_name.items() if holder != key}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name
