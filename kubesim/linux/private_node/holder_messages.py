"""Messages between kubesim and a holder: a JSON object per packet, with file descriptors attached."""

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
    """The next message with its descriptors; None if the peer has closed the socket."""
    try:
        data, fds, flags, _ = socket.recv_fds(source, _MOST_BYTES, _MOST_FDS)
    except ConnectionResetError:  # the peer ended before it read the last message
        return None, []
    for fd in fds:  # Python ignores MSG_CMSG_CLOEXEC here, so plugins would inherit them
        os.set_inheritable(fd, False)
    if flags & socket.MSG_CTRUNC:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return (json.loads(data) if data else None), fds
