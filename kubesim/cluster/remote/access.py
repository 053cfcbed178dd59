"""The address and credentials of an API server. Secrets are never printed."""

from __future__ import annotations

import ssl
from dataclasses import field
from typing import Protocol

from kubesim.values import value_object


@value_object
class Access:
    """`expires_at` (microseconds) is when to reload the credentials; None: when the server rejects them.

    `certificate`: the TLS context has a client certificate.
    """

    server: str
    tls: ssl.SSLContext | None = None
    authorization: str = field(default="", repr=False)
    server_name: str = ""
    proxy: str = field(default="", repr=False)  # it may contain a password
    expires_at: int | None = None
    certificate: bool = False


class AccessLoader(Protocol):
    """Loads credentials, at the start and whenever they expire."""

    async def load(self) -> Access: ...


class FixedAccess:
    """Credentials that do not change."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def load(self) -> Access:
        return self._access
