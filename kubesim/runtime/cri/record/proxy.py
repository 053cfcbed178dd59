"""A proxy for CRI: it passes every call, known or not, to a runtime byte for byte, and records it.

Deadlines, metadata, errors and cancelled calls are passed on as well. The connections of streaming URLs (exec, attach,
port forwarding) go to the runtime directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from kubesim.clock import external
from kubesim.runtime.cri.record.recording import RecordingWriter
from kubesim.runtime.cri.record.redaction import shown
from kubesim.runtime.cri.wire.endpoint import SCHEME
from kubesim.runtime.cri.wire.grpc_calls import CHANNEL_OPTIONS
from kubesim.runtime.cri.wire.methods import CODES, Method, methods

_OWN_METADATA = ("user-agent", "grpc-", ":")
_UNLIMITED = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


class RecordingProxy:
    """Listens at one path and calls the runtime at another."""

    def __init__(self, listen: str, endpoint: str, writer: RecordingWriter) -> None:
        options = (*CHANNEL_OPTIONS, *_UNLIMITED)
        self._writer = writer
        self._listen = listen
        self._channel = grpc.aio.insecure_channel(SCHEME + endpoint, options=options)
        self._server = grpc.aio.server(options=options)
        self._server.add_generic_rpc_handlers((_EveryCall(self._handler),))
        self._known = {method.path: method for method in methods().values()}

    async def start(self) -> None:
        """Raises RuntimeError if the socket cannot be opened."""
        self._server.add_insecure_port(SCHEME + self._listen)
        await self._server.start()

    async def close(self) -> None:
        await self._server.stop(grace=None)
        with external():
            await self._channel.close()

    def _handler(self, path: str) -> grpc.RpcMethodHandler[Any, Any]:
        """Every call of CRI has one request. Its responses are a stream; on the wire, a single one looks the same."""

        async def pass_on(request: bytes, context: Any) -> None:
            await _PassedCall(self._channel, path, self._known.get(path), self._writer).run(request, context)

        return grpc.unary_stream_rpc_method_handler(pass_on)


class _EveryCall(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, handler: Callable[[str], Any]) -> None:
        self._handler = handler

    def service(self, handler_call_details: Any) -> Any:
        return self._handler(handler_call_details.method)


class _PassedCall:
    def __init__(self, channel: Any, path: str, method: Method | None, writer: RecordingWriter) -> None:
        self._make = channel.unary_stream(path)
        self._path, self._method, self._writer = path, method, writer
        self._number = 0
        self._last: Any = None  # the response of a call with one

    async def run(self, request: bytes, context: Any) -> None:
        given = [(key, value) for key, value in context.invocation_metadata() if not key.startswith(_OWN_METADATA)]
        self._asked(request)
        call = self._make(request, timeout=context.time_remaining(), metadata=grpc.aio.Metadata(*given))
        try:
            await self._answer(call, context)
            await self._finish(call, context)
        except asyncio.CancelledError:
            call.cancel()
            self._returned("Canceled", error="the client has cancelled the call")
            raise

    async def _answer(self, call: Any, context: Any) -> None:
        try:
            async for response in call:
                self._answered(response)
                await context.write(response)
        except grpc.aio.AioRpcError:
            pass  # `_finish` passes it on

    async def _finish(self, call: Any, context: Any) -> None:
        code, details, trailing = await call.code(), await call.details(), await call.trailing_metadata()
        name = CODES.get(code.value[0], "Unknown")
        self._returned(name, error="" if code is grpc.StatusCode.OK else details or "")
        if trailing:
            context.set_trailing_metadata(tuple(trailing))
        if code is not grpc.StatusCode.OK:
            await context.abort(code, details or "", tuple(trailing or ()))

    def _asked(self, request: bytes) -> None:
        name = self._path if self._method is None else self._method.name
        message = None if self._method is None else self._method.request
        self._number = self._writer.call(name, _decoded(message, request))

    def _answered(self, response: bytes) -> None:
        message = None if self._method is None else self._method.response
        self._last = _decoded(message, response)
        if self._method is None or self._method.streaming:
            self._writer.message(self._number, self._last)
            self._last = None

    def _returned(self, code: str, error: str = "") -> None:
        if self._number:
            number, self._number = self._number, 0
            self._writer.returned(number, code, self._last, error)


def _decoded(message: Any, data: bytes) -> dict[str, Any]:
    """Of an unknown call, only the size."""
    if message is None:
        return {"bytes": len(data)}
    try:
        return shown(message.FromString(data))
    except DecodeError:
        return {"bytes": len(data), "problem": "not a message of this call"}
