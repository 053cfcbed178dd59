"""What containerd undoes when a sandbox does not come up, and in which order. Pure.

Upstream this is a row of deferred functions, each of which looks at whether an earlier one failed. What is critical
(network, namespace, the sandbox itself) stops the undoing when it fails: the sandbox is then kept as UNKNOWN, with its
name reserved, so that the next sync of the kubelet finds and stops it.

Mirrors: containerd internal/cri/server/sandbox_run.go RunPodSandbox (its defers)
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal

from kubesim.golang.text import quoted
from kubesim.runtime.protocol import UserNamespace
from kubesim.values import value_object


class Stage(IntEnum):
    """How far RunPodSandbox has got: what exists and may have to be undone."""

    NOTHING = 0
    NAME_RESERVED = 1
    LEASE_CREATED = 2
    METADATA_STORED = 3
    NAMESPACE_MADE = 4
    NETWORK_BEGUN = 5  # from here on plugins may have done something, also when they say that they failed
    SANDBOX_STARTED = 6


Action = Literal[
    "shut down sandbox",
    "tear down network",
    "remove namespace",
    "keep as unknown",
    "delete metadata",
    "delete lease",
    "release name",
]
When = Literal["always", "while clean", "when dirty"]


@value_object
class CleanUp:
    """Something to undo: due if at least that stage was reached, and if the undoing so far went well, or did not."""

    action: Action
    stage: Stage
    when: When


_CLEAN_UPS: Final = (
    CleanUp("shut down sandbox", Stage.SANDBOX_STARTED, "always"),
    CleanUp("tear down network", Stage.NETWORK_BEGUN, "while clean"),
    CleanUp("remove namespace", Stage.NAMESPACE_MADE, "while clean"),
    CleanUp("keep as unknown", Stage.METADATA_STORED, "when dirty"),
    CleanUp("delete metadata", Stage.METADATA_STORED, "while clean"),
    CleanUp("delete lease", Stage.LEASE_CREATED, "always"),
    CleanUp("release name", Stage.NAME_RESERVED, "while clean"),
)


def clean_ups(reached: Stage) -> tuple[CleanUp, ...]:
    """What may have to be undone, in order."""
    return tuple(entry for entry in _CLEAN_UPS if entry.stage <= reached)


def is_due(entry: CleanUp, dirty: bool) -> bool:
    """`dirty`: something before could not be undone."""
    return entry.when == "always" or (entry.when == "when dirty") == dirty


def makes_dirty(action: Action, *, has_network: bool) -> bool:
    """Does a failure of this action count? A network that never came up need not be torn down well."""
    if action == "tear down network":
        return has_network
    return action != "delete lease"


def user_namespace_problem(user_namespace: UserNamespace) -> str:
    """Why a network namespace cannot be made within a user namespace; empty if it can."""
    if user_namespace.mode != "POD":
        return "required pod-level user namespace setting"
    for kind, mappings in (("uid", user_namespace.uids), ("gid", user_namespace.gids)):
        if len(mappings) != 1:
            return f"required only one {kind} mapping, but got {len(mappings)} {kind} mapping(s)"
    return ""


def make_sandbox_name(name: str, namespace: str, uid: str, attempt: int) -> str:
    return "_".join((name, namespace, uid, str(attempt)))


class NameIndex:
    """Names of sandboxes and who has them."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}

    def reserve(self, name: str, key: str) -> str:
        """The problem, if somebody else has the name."""
        holder = self._by_name.setdefault(name, key)
        return "" if holder == key else f"name {quoted(name)} is reserved for {quoted(holder)}"

    def release(self, key: str) -> None:
        """Of whoever has this key."""
        self._by_name = {name: holder for name, holder in self._by_name.items() if holder != key}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name
