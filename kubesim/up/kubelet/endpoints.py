"""The addresses of kubelets: by default each has one of its own on loopback, with the kubelet's port.

All of 127.0.0.0/8 is this machine, so a hundred nodes have a hundred addresses, as in reality.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, ip_address

from kubesim.errors import UsageError
from kubesim.kubelet.server import parse_address
from kubesim.up.address import check_address
from kubesim.values import value_object

PORT = 10250
OFF = "off"
_FIRST, _LAST = int(IPv4Address("127.8.0.1")), int(IPv4Address("127.8.255.254"))
_BACKLOG = 128


@value_object
class KubeletEndpoint:
    """The address of one kubelet, on which `listening` already listens."""

    address: str
    port: int
    listening: socket.socket


@contextlib.contextmanager
def open_endpoints(listen: str, names: Sequence[str], *, allowed: bool) -> Iterator[dict[str, KubeletEndpoint]]:
    """The endpoint of each node, closed at the end of the block. `listen` is empty (loopback), ADDRESS, ADDRESS:PORT or
    off. Raises UsageError."""
    found: dict[str, KubeletEndpoint] = {}
    if listen == OFF:
        yield found
        return
    with contextlib.ExitStack() as opened:
        free = _own_addresses() if not listen else _one_address(listen, len(names), allowed=allowed)
        for name, endpoint in zip(names, free, strict=False):
            opened.callback(endpoint.listening.close)
            found[name] = endpoint
        if len(found) < len(names):
            raise UsageError("--kubelet-listen: no more addresses in 127.8.0.0/16 with a free port 10250: use off")
        yield found


def _own_addresses() -> Iterator[KubeletEndpoint]:
    for number in range(_FIRST, _LAST):
        address = str(IPv4Address(number))
        try:
            yield _listening(address, PORT)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise UsageError(f"--kubelet-listen: {address}:{PORT}: {os.strerror(error.errno or 0)}") from None


def _one_address(listen: str, count: int, *, allowed: bool) -> Iterator[KubeletEndpoint]:
    host, port = _parsed(listen)
    check_address(host, allowed=allowed, flag="--kubelet-listen")
    if ip_address(host).is_unspecified:
        raise UsageError(f"--kubelet-listen {listen}: the API server cannot connect to {host}: name one address")
    for number in range(count):
        wanted = port + number if port else 0
        try:
            yield _listening(host, wanted)
        except (OSError, OverflowError) as error:
            why = os.strerror(getattr(error, "errno", 0) or 0) if isinstance(error, OSError) else "no such port"
            raise UsageError(f"--kubelet-listen {listen}: {host}:{wanted}: {why}") from None


def _parsed(listen: str) -> tuple[str, int]:
    with contextlib.suppress(ValueError):
        return str(ip_address(listen.strip("[]"))), 0
    host, port = parse_address(listen)
    try:
        return str(ip_address(host)), port
    except ValueError:
        raise UsageError(f"--kubelet-listen {listen}: give ADDRESS, ADDRESS:PORT or off") from None


def _listening(address: str, port: int) -> KubeletEndpoint:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(_BACKLOG)
        made.setblocking(False)
    except (OSError, OverflowError):
        made.close()
        raise
    return KubeletEndpoint(address, made.getsockname()[1], made)
