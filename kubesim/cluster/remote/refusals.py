"""Final errors: rejected credentials and redirects.

A 401 is final, because the credentials were already reloaded; the command ends with the server's message. A redirect is
never followed, because the token is for the server in the kubeconfig. Before the first successful response, a redirect
means a wrong server URL and ends the command; later it may be temporary.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubesim.cluster.remote.answers import Undecodable, decode_object
from kubesim.cluster.remote.transport import Call, Reply, Transport, read_all
from kubesim.errors import TransportError, UsageError


class DecisiveTransport:
    """Raises UsageError for a final error."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._was_answered = False

    async def close(self) -> None:
        await self._transport.close()

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        async with self._transport.open(call) as reply:
            if reply.status == 401:
                raise UsageError(f"the API server does not accept the credentials: {await _words(reply)}")
            if 300 <= reply.status < 400:
                self._redirected(reply)
            self._was_answered |= reply.status == 200
            yield reply

    def _redirected(self, reply: Reply) -> None:
        location = str(getattr(reply, "location", ""))[:200]
        problem = (
            f"the server redirects ({reply.status}){f' to {location}' if location else ''}; redirects are not followed"
        )
        if self._was_answered:
            raise TransportError(problem)
        raise UsageError(f"{problem}: name the API server itself in the kubeconfig")


async def _words(reply: Reply) -> str:
    try:
        message = decode_object(await read_all(reply), "Status").get("message")
    except (Undecodable, TransportError):
        message = None
    return message if isinstance(message, str) and message else "401 Unauthorized"
