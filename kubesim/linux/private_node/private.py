"""Isolates a process from the host: a user namespace with root, and a node's own mounts, network and PIDs.

The host's file system stays visible but becomes read-only and without devices; plugin state directories are an empty
tmpfs. Then the node enters a second user namespace: the kernel locks mounts inherited from another user namespace, so
root in the node can neither make them writable nor unmount them. Only a single-threaded process can do this, and it
cannot be undone.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

from kubesim.linux import namespaces

# Paths that plugins write to: the iptables lock, bound namespaces, host-local's reservations.
STATE_DIRS: Final = ("/run", "/var/lib/cni")
NETNS_DIR: Final = "/var/run/netns"
OWN_DIR: Final = "/run/kubesim"  # kubesim's own files in the node

_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "net/tun")
# Paths through which root could change the whole machine. In /proc/sys, only the node's network settings stay writable.
_READ_ONLY_PROC: Final = ("acpi", "bus", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger", "tty")

_SYS_MOUNT_SETATTR, _AT_RECURSIVE, _AT_FDCWD = 442, 0x8000, -100
_READ_ONLY, _NO_SUID, _NO_DEVICES = 1, 2, 4
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER = 1, 4, 36
_libc = ctypes.CDLL(None, use_errno=True)


class Forbidden(Exception):
    """The kernel refused a step; `problem` is the reason."""

    def __init__(self, step: str, problem: OSError) -> None:
        self.step, self.problem = step, problem
        super().__init__(f"{step}: {problem.strerror}")


def become_root() -> None:
    """Become root in a user namespace that maps it to the caller, with a network namespace for veth cables."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        namespaces.unshare(namespaces.CLONE_NEWUSER | namespaces.CLONE_NEWNET)
        namespaces.map_root_to(uid, gid)
    except OSError as error:
        raise Forbidden("a user namespace", error) from error


def leave_for_node() -> None:
    """Enter a new mount namespace, and a new PID namespace for the next child."""
    try:
        namespaces.unshare(namespaces.CLONE_NEWNS | namespaces.CLONE_NEWPID)
    except OSError as error:
        raise Forbidden("namespaces of a node", error) from error


def set_up_node() -> None:
    """Set up the first process of a node: its own /proc and /dev, everything else read-only, empty state directories,
    and a network with loopback. Afterwards no process in the node can undo it.
    """
    try:
        namespaces.mount("none", "/", "none", namespaces.MS_REC | namespaces.MS_PRIVATE)
        _set_attributes("/", _READ_ONLY | _NO_SUID | _NO_DEVICES, recursive=True)
        _mount_devices()
        for path in STATE_DIRS:
            namespaces.mount_empty(path)
        os.makedirs(NETNS_DIR, exist_ok=True)
        os.makedirs(OWN_DIR, mode=0o700, exist_ok=True)
    except OSError as error:
        raise Forbidden("mounts of a node", error) from error
    try:
        namespaces.mount("proc", "/proc", "proc")
        _protect_proc()
    except OSError as error:
        raise Forbidden("the node's own /proc", error) from error
    _lock_mounts()
    namespaces.set_up("lo")


def _lock_mounts() -> None:
    """Enter a second user namespace with a copy of the mounts, and with a network namespace that it owns."""
    try:
        namespaces.unshare(namespaces.CLONE_NEWUSER | namespaces.CLONE_NEWNS | namespaces.CLONE_NEWNET)
        namespaces.map_root_to(0, 0)
        _libc.prctl(_SET_DUMPABLE, 0)  # no plugin may ptrace the holder
    except OSError as error:
        raise Forbidden("the node's own user namespace", error) from error


def _mount_devices() -> None:
    """Mount a /dev with harmless devices only: a read-only mount would not keep root from using others."""
    found = {name: os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES if os.path.exists(f"/dev/{name}")}
    namespaces.mount("tmpfs", "/dev", "tmpfs", data="mode=0755,size=64k")
    for name, device in found.items():
        path = f"/dev/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC))
        namespaces.mount(f"/proc/self/fd/{device}", path, "none", namespaces.MS_BIND)
        os.close(device)
        _set_attributes(path, cleared=_READ_ONLY | _NO_DEVICES)
    _set_attributes("/dev", _READ_ONLY | _NO_SUID)


def _protect_proc() -> None:
    for name in _READ_ONLY_PROC:
        path = f"/proc/{name}"
        if os.path.exists(path):
            namespaces.mount(path, path, "none", namespaces.MS_BIND)
            _set_attributes(path, _READ_ONLY)
    namespaces.mount("/proc/sys/net", "/proc/sys/net", "none", namespaces.MS_BIND)
    _set_attributes("/proc/sys/net", cleared=_READ_ONLY)


def _set_attributes(path: str, set: int = 0, *, cleared: int = 0, recursive: bool = False) -> None:
    """Set attributes of existing mounts at the path, and below it if `recursive`; later mounts are unaffected."""
    settings = (ctypes.c_uint64 * 4)(set, cleared, 0, 0)
    flags, size = _AT_RECURSIVE if recursive else 0, ctypes.sizeof(settings)
    if _libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, ctypes.byref(settings), size) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)


def adopt_orphans() -> None:
    """Become the reaper of orphaned descendants, so that we can wait for them."""
    _libc.prctl(_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int | None = None) -> None:
    """Let the kernel kill this process when its parent ends, or now if it has ended. Must be called after the last
    change of user, which would reset it. A parent outside our PID namespace has no PID here.
    """
    _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)
