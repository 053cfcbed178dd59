"""Pod addresses."""

from __future__ import annotations

from ipaddress import ip_address
from socket import inet_ntoa


class Addresses:
    """Assigned in order, never reused in a run; each belongs to one sandbox."""

    def __init__(self, first: str) -> None:
        self._next = int(ip_address(first))
        self.taken = set[str]()  # by the sandboxes

    def take(self, sandbox_id: str) -> str:
        self.taken.add(sandbox_id)
        address = self._next
        self._next += 1
        # Same text as `ipaddress`, without its slow objects.
        return inet_ntoa(address.to_bytes(4, "big")) if address < 1 << 32 else str(ip_address(address))

    def release(self, sandbox_id: str) -> None:
        self.taken.discard(sandbox_id)
