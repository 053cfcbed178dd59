"""Restrictions on plugins, which are root in a private node: they inherit these limits and cannot undo them.

A plugin must enter namespaces (CAP_SYS_ADMIN) and configure networks (CAP_NET_ADMIN), but never mount. `confine` is
called between fork and exec.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import Final

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _DROP_FROM_BOUNDING_SET = 38, 22, 24
_FILTER_MODE = 2

# By number: CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE,
# NET_BROADCAST, NET_ADMIN, NET_RAW, SYS_ADMIN.
_KEPT_CAPABILITIES: Final = {0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 21}
_CAPABILITIES = 64

# open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, open_tree_attr: the same numbers everywhere.
_NEW_MOUNT_CALLS: Final = (428, 429, 430, 431, 432, 433, 442, 467)
# AUDIT_ARCH, and the numbers of mount, umount2 and pivot_root.
_MACHINES: Final = {
    "x86_64": (0xC000003E, (165, 166, 155)),
    "aarch64": (0xC00000B7, (40, 39, 41)),
}
_X32 = 0x40000000  # the x32 ABI of x86-64: the same calls with other numbers

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_ARCHITECTURE_OFFSET, _NUMBER_OFFSET = 4, 0

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine() -> None:
    """Drop permanently: privileges gained by exec, unneeded capabilities, and all mount calls."""
    _prctl(_SET_NO_NEW_PRIVS, 1)
    for capability in range(_CAPABILITIES):
        if capability not in _KEPT_CAPABILITIES:
            try:
                _prctl(_DROP_FROM_BOUNDING_SET, capability)
            except OSError:
                break  # this kernel has no more capabilities
    program = mount_filter(platform.machine())
    if program:
        _prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(_Program(len(program) // 8, program)))


def mount_filter(machine: str) -> bytes:
    """A seccomp program that rejects mount calls; empty on architectures with unknown call numbers."""
    if machine not in _MACHINES:
        return b""
    architecture, old_calls = _MACHINES[machine]
    checks = [(_EQUAL, number) for number in (*old_calls, *_NEW_MOUNT_CALLS)]
    if machine == "x86_64":
        checks.append((_AT_LEAST, _X32))
    refuse = len(checks) + 1  # after the checks and the allow instruction
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_EQUAL, 0, refuse + 1, architecture),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        *((code, refuse - 1 - position, 0, value) for position, (code, value) in enumerate(checks)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _prctl(option: int, *arguments: object) -> None:
    padded = [*arguments, *(0,) * (4 - len(arguments))]
    given = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in padded]
    if _libc.prctl(option, *given) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "prctl")
