"""System calls for Linux namespaces and mounts: enter, leave, bind, and set up a private host.

Only a dedicated process or thread should change its namespaces.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000
MS_BIND: Final = 0x1000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000
MNT_DETACH: Final = 2

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    _check(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, filesystem: str, flags: int = 0, data: str = "") -> None:
    arguments = (os.fsencode(source), os.fsencode(target), filesystem.encode(), ctypes.c_ulong(flags), data.encode())
    _check(_libc.mount(*arguments), target)


def umount(target: str, flags: int = MNT_DETACH) -> None:
    _check(_libc.umount2(os.fsencode(target), flags), target)


def filesystem_type(path: str) -> int:
    """The file system type (f_type of statfs(2))."""
    buffer = ctypes.create_string_buffer(256)
    _check(_libc.statfs(os.fsencode(path), buffer), path)
    kind: int = ctypes.c_long.from_buffer(buffer).value
    return kind


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def set_up(interface: str) -> None:
    """Bring up an interface of the current network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", interface.encode(), 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", interface.encode(), flags | _IFF_UP))


def become_private_host(*state: str) -> None:
    """Isolate this process: a network with loopback only, and empty directories for plugin state. A user other than
    root becomes root in a user namespace. A missing path is created on a tmpfs that is mounted on its parent.
    """
    if os.geteuid() == 0:
        unshare(CLONE_NEWNET | CLONE_NEWNS)
    else:
        _become_root()
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    for path in state:
        mount_empty(path)
    set_up("lo")


def _become_root() -> None:
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS)
    map_root_to(uid, gid)


def map_root_to(uid: int, gid: int) -> None:
    """Write the id maps of a just entered user namespace: its root becomes these ids of the parent namespace."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def mount_empty(path: str) -> None:
    """Mount an empty tmpfs on the directory, or on its nearest existing parent."""
    directory = os.path.realpath(path)
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    mount("tmpfs", directory, "tmpfs", data="mode=0755")
    os.makedirs(os.path.realpath(path), exist_ok=True)
