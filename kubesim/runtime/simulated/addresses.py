"""The addresses of pods, one after the other."""

from __future__ import annotations

from ipaddress import ip_address
from socket import inet_ntoa


class Addresses:
    """None is given twice in a run."""

    def __init__(self, first: str) -> None:
        self._next = int(ip_address(first))

    def take(self) -> str:
        address = self._next
        self._next += 1
        # The text that the module gives, which makes an object of it first.
        return inet_ntoa(address.to_bytes(4, "big")) if address < 1 << 32 else str(ip_address(address))
