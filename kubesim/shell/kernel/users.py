"""The user of a container's processes, and what the kernel allows them: capabilities, system calls, programs.

An image's /etc/passwd is not modelled, so only root has a name.
"""

from __future__ import annotations

from kubesim.values import value_object


@value_object
class User:
    """A user; `groups` are the groups in addition to `gid`."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


ROOT = User()

NOT_PERMITTED = "Operation not permitted"
# The system calls that programs ask for.
CHECKED_CALLS = frozenset({"chmod", "chown", "fchmodat", "fchownat", "sethostname", "socket"})


@value_object
class Permissions:
    """`capabilities` have no `CAP_`; None: all. `blocked_calls` are the system calls that a seccomp profile blocks;
    `masked` are the names of programs that cannot be executed. `no_new_privileges` disables set-user-ID programs."""

    capabilities: frozenset[str] | None = None
    blocked_calls: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    no_new_privileges: bool = False

    def allow(self, capability: str, *calls: str) -> bool:
        """Whether an operation works that needs the capability (empty: none) and these system calls."""
        has_capability = not capability or self.capabilities is None or capability in self.capabilities
        return has_capability and self.blocked_calls.isdisjoint(calls)


EVERYTHING = Permissions()
