"""Ports of simulated containers on loopback addresses of this machine, so that the probes of a real kubelet reach them.

A pod whose address is below 127.0.0.0/8 listens there for real; a pod on the host's network, and host ports, at
127.0.0.1. If a port cannot be opened (below 1024 without the right to, or in use), it exists only in the simulation.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from kubesim.clock import LoopClock
from kubesim.linux.private_node.holder_client import PrivateNode
from kubesim.runtime.network.real_ports import RealPorts, Silences
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.shell import Listener, Ports
from kubesim.shell.kernel.ports import AddressInUse, HttpAnswer, HttpRequest

HOST_ADDRESS = "127.0.0.1"
_BACKLOG = 128
_OF_POD = ("127.0.0.1", "localhost", "::1")


class _Loopback:
    """Opens sockets as a private node does, at one address of this machine."""

    def __init__(self) -> None:
        self.address = ""

    def socket(self, netns: str, *, ipv6: bool = False, listen: tuple[str, int]) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((self.address, listen[1]))
            made.listen(_BACKLOG)
        except OSError:
            made.close()
            raise
        return made


class PublishedPorts(RealPorts):
    """The listeners of a pod, which really listen once the pod has its address."""

    __slots__ = ("_loopback",)

    def __init__(self, address: str = "") -> None:
        self._loopback = _Loopback()
        super().__init__(cast(PrivateNode, self._loopback), Silences())
        self._loopback.address = address

    def publish(self, address: str) -> None:
        self._loopback.address = address if is_loopback(address) else ""

    async def dial(self, port: int) -> socket.socket | None:  # type: ignore[override]
        """None: not every listener of the pod has a socket."""
        return None

    def listen(self, listener: Listener) -> Listener:
        if not self._loopback.address or (listener.host in _OF_POD and self._loopback.address != HOST_ADDRESS):
            return Ports.listen(self, listener)
        try:
            return super().listen(listener)
        except AddressInUse:
            return Ports.listen(self, listener)  # raises it again if it is another container of the pod


class PublishedNetwork(SimulatedNetwork):
    """The simulated network, whose pods are reachable from this machine."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock)
        self._host_ports: dict[str, list[tuple[Ports, Listener]]] = {}

    def new_ports(self) -> Ports:
        return PublishedPorts()

    def attach(self, address: str, ports: Ports) -> None:
        if isinstance(ports, PublishedPorts):
            ports.publish(address)
        super().attach(address, ports)

    def map_ports(self, sandbox_id: str, mappings: Any, ports: Callable[[], Ports | None]) -> None:
        """Forward the host ports of a sandbox to the ports of its pod."""
        opened = self._host_ports.setdefault(sandbox_id, [])
        for mapping in mappings:
            if mapping.host_port > 0:
                here = PublishedPorts(HOST_ADDRESS)
                with suppress(AddressInUse):
                    listener = here.listen(_forwarder(mapping.host_port, mapping.container_port, ports))
                    opened.append((here, listener))

    def unmap_ports(self, sandbox_id: str) -> None:
        for ports, listener in self._host_ports.pop(sandbox_id, ()):
            ports.close(listener)

    def close(self) -> None:
        for sandbox_id in list(self._host_ports):
            self.unmap_ports(sandbox_id)


def _forwarder(host_port: int, port: int, ports: Callable[[], Ports | None]) -> Listener:
    def target() -> Listener | None:
        found = ports()
        return None if found is None else found.at(port)

    def answer(request: HttpRequest) -> HttpAnswer | None:
        listener = target()
        return None if listener is None else listener.request(request)

    return Listener(host_port, answer=answer)


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
