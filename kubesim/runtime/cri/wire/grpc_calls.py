"""CRI calls over a Unix socket with gRPC: the client's side and the server's.

Mirrors: cri-client/pkg remote_runtime.go, remote_image.go (NewRemoteRuntimeService); containerd's gRPC server
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from kubesim.clock.clock import external
from kubesim.runtime.cri.wire.endpoint import SCHEME
from kubesim.runtime.cri.wire.methods import CODES, Calls, CriError, Method, methods

MAX_MESSAGE = 16 << 20
_NUMBERS = {name: number for number, name in CODES.items()}
_STATUS: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
# What gRPC's library for Python and C says about connections -> what Go's says.
_REFUSALS = {
    "No such file": "no such file or directory",
    "Permission denied": "permission denied",
    "Connection refused": "connection refused",
}
_NEVER_CONNECTED = "failed to connect to all addresses"
_LOST = re.compile(r"Socket closed|Stream removed|Connection reset|Broken pipe|recvmsg|GOAWAY", re.IGNORECASE)
CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.use_local_subchannel_pool", 1),  # a refused connection does not delay that of another client
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5000),  # how long an attempt to connect may take
    ("grpc.max_reconnect_backoff_ms", 3000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.default_authority", "localhost"),  # containerd refuses the path of a socket as the authority
)


class GrpcCalls:
    """Implements `Calls` at a socket. It connects on its first call, and again after the connection is lost."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._channel = grpc.aio.insecure_channel(SCHEME + path, options=CHANNEL_OPTIONS)
        self._callables: dict[str, Callable[..., Any]] = {}

    def _callable(self, name: str) -> Callable[..., Any]:
        made = self._callables.get(name)
        if made is None:
            method = methods()[name]
            kind = self._channel.unary_stream if method.streaming else self._channel.unary_unary
            made = kind(
                method.path,
                request_serializer=method.request.SerializeToString,
                response_deserializer=method.response.FromString,
            )
            self._callables[name] = made
        return made

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        limit = None if timeout is None else timeout / 1_000_000
        try:
            return await self._callable(name)(request, timeout=limit)
        except grpc.aio.AioRpcError as error:
            raise self._error(error) from None

    async def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        try:
            async for answer in self._callable(name)(request):
                yield answer
        except grpc.aio.AioRpcError as error:
            raise self._error(error) from None

    def _error(self, error: grpc.aio.AioRpcError) -> CriError:
        """With the error text of Go's gRPC, which the kubelet's messages contain."""
        code, text = CODES[error.code().value[0]], error.details() or ""
        if code == "Unavailable" and text.startswith(_NEVER_CONNECTED):
            text = f'connection error: desc = "{self._dialing(text)}"'
        elif code == "Unavailable" and _LOST.match(text):
            text = "error reading from server: EOF"
        elif code == "DeadlineExceeded" and text == "Deadline Exceeded":
            text = "context deadline exceeded"
        return CriError(code, text)

    def _dialing(self, text: str) -> str:
        why = next((why for mark, why in _REFUSALS.items() if f"error: {mark}" in text), "")
        if why:
            return f"transport: Error while dialing: dial unix {self._path}: connect: {why}"
        return f"error reading server preface: {'i/o timeout' if 'timed out' in text else 'it is not HTTP/2'}"

    async def close(self) -> None:
        with external():
            await self._channel.close()
        # gRPC keeps a thread for calls that are not finished as long as a channel is referenced; the thread would
        # pass their results to an event loop that is closed.
        del self._channel
        self._callables.clear()


def _parsed(method: Method, request: bytes) -> Any:
    """Raises CriError, as Go's gRPC does."""
    try:
        return method.request.FromString(request)
    except DecodeError:
        raise CriError(
            "Internal", "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data"
        ) from None


class GrpcServer:
    """Serves `Calls` at a socket; `more` are handlers of other services."""

    def __init__(self, calls: Calls, path: str, more: Sequence[grpc.GenericRpcHandler] = ()) -> None:
        self._calls = calls
        self._path = path
        self._server = grpc.aio.server(options=CHANNEL_OPTIONS)
        self._server.add_generic_rpc_handlers(tuple(more))
        for service in sorted({method.service for method in methods().values()}):
            own = [method for method in methods().values() if method.service == service]
            handlers = {method.name: self._handler(method) for method in own}
            name = own[0].path.split("/")[1]
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))

    def _handler(self, method: Method) -> Any:
        async def unary(request: bytes, context: Any) -> Any:
            try:
                return await self._calls.call(method.name, _parsed(method, request))
            except CriError as error:
                await context.abort(_STATUS[_NUMBERS[error.code]], error.text)

        async def streaming(request: bytes, context: Any) -> AsyncIterator[Any]:
            try:
                async for answer in self._calls.stream(method.name, _parsed(method, request)):
                    yield answer
            except CriError as error:
                await context.abort(_STATUS[_NUMBERS[error.code]], error.text)

        make = grpc.unary_stream_rpc_method_handler if method.streaming else grpc.unary_unary_rpc_method_handler
        return make(
            streaming if method.streaming else unary,
            response_serializer=method.response.SerializeToString,
        )

    async def start(self) -> None:
        """Raises RuntimeError if the socket cannot be opened."""
        self._server.add_insecure_port(SCHEME + self._path)
        await self._server.start()

    async def close(self) -> None:
        await self._server.stop(grace=None)
