"""What kubesim and a holder say to each other: a JSON object in one packet, with file descriptors beside it."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Sequence
from typing import Any

_MOST_BYTES = 256 * 1024
_MOST_FDS = 8

Message = dict[str, Any]


def pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(to: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    data = json.dumps(message, separators=(",", ":")).encode()
    if fds:
        socket.send_fds(to, [data], list(fds))
    else:
        to.send(data)


def receive(source: socket.socket) -> tuple[Message | None, list[int]]:
    """The next message with its descriptors; None if the other side is gone."""
    try:
        data, fds, flags, _ = socket.recv_fds(source, _MOST_BYTES, _MOST_FDS)
    except ConnectionResetError:  # it did not even read the last message
        return None, []
    for fd in fds:  # Python ignores MSG_CMSG_CLOEXEC here, and a plugin would inherit them
        os.set_inheritable(fd, False)
    if flags & socket.MSG_CTRUNC:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return (json.loads(data) if data else None), fds
