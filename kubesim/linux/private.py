"""Leaving the host: a user namespace in which one is root, and a node's own mounts, network and process ids.

Everything of the host's file system stays visible and becomes read-only; where plugins keep their state there is an
empty tmpfs. Only processes with a single thread can do this, and they cannot go back.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

from kubesim.linux import namespaces

# What plugins write to: iptables' lock and bound namespaces, host-local's reservations.
STATE_DIRS: Final = ("/run", "/var/lib/cni")
NETNS_DIR: Final = "/var/run/netns"
OWN_DIR: Final = "/run/kubesim"  # what kubesim itself keeps in the node

_SYS_MOUNT_SETATTR, _AT_RECURSIVE, _AT_FDCWD, _READ_ONLY = 442, 0x8000, -100, 1
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


class Forbidden(Exception):
    """A step that the kernel did not allow; `problem` is its reason."""

    def __init__(self, step: str, problem: OSError) -> None:
        self.step, self.problem = step, problem
        super().__init__(f"{step}: {problem.strerror}")


def become_root() -> None:
    """Root in a user namespace whose root is the caller outside, with a network namespace for the cables. Where there
    are no user namespaces, real root goes without one."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        try:
            namespaces.unshare(namespaces.CLONE_NEWUSER | namespaces.CLONE_NEWNET)
        except OSError:
            if uid != 0:
                raise
            namespaces.unshare(namespaces.CLONE_NEWNET)
            return
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError as error:
        raise Forbidden("a user namespace", error) from error


def leave_for_node() -> None:
    """New network and mount namespaces for this process, and one of process ids for its next child."""
    try:
        namespaces.unshare(namespaces.CLONE_NEWNET | namespaces.CLONE_NEWNS | namespaces.CLONE_NEWPID)
    except OSError as error:
        raise Forbidden("namespaces of a node", error) from error


def furnish() -> None:
    """As the first process of a node: its own /proc, everything else read-only, empty state, loopback up."""
    try:
        namespaces.mount("none", "/", "none", namespaces.MS_REC | namespaces.MS_PRIVATE)
        _make_read_only()
        for path in STATE_DIRS:
            _empty(path)
        os.makedirs(NETNS_DIR, exist_ok=True)
        os.makedirs(OWN_DIR, mode=0o700, exist_ok=True)
    except OSError as error:
        raise Forbidden("mounts of a node", error) from error
    try:
        namespaces.mount("proc", "/proc", "proc")
    except OSError as error:
        raise Forbidden("a /proc of the node's own", error) from error
    namespaces.set_up("lo")


def _make_read_only() -> None:
    """All that is mounted, but not what is mounted from now on."""
    settings = (ctypes.c_uint64 * 4)(_READ_ONLY, 0, 0, 0)
    size = ctypes.sizeof(settings)
    if _libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, ctypes.byref(settings), size) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "/")


def _empty(path: str) -> None:
    """A tmpfs there, or on the nearest directory above that exists."""
    place = os.path.realpath(path)
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    namespaces.mount("tmpfs", place, "tmpfs", data="mode=0755")
    os.makedirs(os.path.realpath(path), exist_ok=True)


def adopt_orphans() -> None:
    """Whoever loses its parent among our descendants becomes our child, so that we can wait for its end."""
    _libc.prctl(_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int | None = None) -> None:
    """Be killed when the parent ends, now if it has ended already. To be called after the last change of user, which
    would undo it. A parent beyond our process ids has no number here."""
    _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)
