"""Changes of one directory, as Linux tells them and as fsnotify words them.

Mirrors: fsnotify backend_inotify.go (what is asked for, and which event becomes what)
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from typing import Final

from kubesim.frozen import frozen

CREATE: Final = "CREATE"
WRITE: Final = "WRITE"
REMOVE: Final = "REMOVE"
RENAME: Final = "RENAME"
CHMOD: Final = "CHMOD"

_MODIFY, _ATTRIB, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF, _IGNORED = 0x100, 0x200, 0x400, 0x800, 0x8000
_ASKED = _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_OPERATIONS = (
    (_CREATE | _MOVED_TO, CREATE),
    (_DELETE | _DELETE_SELF, REMOVE),
    (_MODIFY, WRITE),
    (_MOVED_FROM | _MOVE_SELF, RENAME),
    (_ATTRIB, CHMOD),
)
_HEADER = struct.Struct("iIII")  # watch, mask, cookie, length of the name


@frozen
class Event:
    """`name` is the path of the file, or of the directory itself."""

    name: str
    operations: frozenset[str]

    def __str__(self) -> str:
        shown = (operation for operation in (CREATE, REMOVE, WRITE, RENAME, CHMOD) if operation in self.operations)
        return f"{'|'.join(shown)} {self.name}"


class DirectoryWatch:
    """Watches a directory, not what is below its subdirectories."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _failed("cannot watch directories")
        if libc.inotify_add_watch(self._fd, os.fsencode(directory), _ASKED) < 0:
            problem = _failed(f"cannot watch {directory}")
            os.close(self._fd)
            raise problem

    def pending(self) -> list[Event]:
        """What has happened since the last time."""
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return []
        events = []
        at = 0
        while at < len(data):
            _, mask, _, length = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
            at += length
            event = self._event(mask, name)
            if event is not None:
                events.append(event)
        return events

    def _event(self, mask: int, name: str) -> Event | None:
        operations = frozenset(operation for bits, operation in _OPERATIONS if mask & bits)
        if mask & _IGNORED or not operations:
            return None
        return Event(os.path.join(self.directory, name) if name else self.directory, operations)

    async def events(self) -> list[Event]:
        """Wait until something happens."""
        loop = asyncio.get_running_loop()
        while not (events := self.pending()):
            ready: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self._fd, ready.set_result, None)
            try:
                await ready
            finally:
                loop.remove_reader(self._fd)
        return events

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _failed(what: str) -> OSError:
    return OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
