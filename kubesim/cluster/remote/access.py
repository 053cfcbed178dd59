"""Where an API server is and what it takes to be let in. Nothing secret of it is ever printed."""

from __future__ import annotations

import ssl
from dataclasses import field
from typing import Protocol

from kubesim.values import value_object


@value_object
class Access:
    """`expires_at` (microseconds) is when the credentials should be loaded again; None: when they are refused.

    `certificate` says that the TLS context shows one of our own.
    """

    server: str
    tls: ssl.SSLContext | None = None
    authorization: str = field(default="", repr=False)
    server_name: str = ""
    proxy: str = field(default="", repr=False)  # it may hold a password
    expires_at: int | None = None
    certificate: bool = False


class AccessLoader(Protocol):
    """Loads credentials, at the start and whenever they are no longer valid."""

    async def load(self) -> Access: ...


class FixedAccess:
    """Credentials that do not change."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def load(self) -> Access:
        return self._access
