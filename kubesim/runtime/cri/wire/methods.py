"""The calls of CRI: their names, messages and paths in gRPC, taken from the descriptors of the messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from typing import Any, Protocol

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from kubesim.errors import RuntimeCallError
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.values import value_object

SERVICES = ("RuntimeService", "ImageService")
CODES = {
    0: "OK", 1: "Canceled", 2: "Unknown", 3: "InvalidArgument", 4: "DeadlineExceeded", 5: "NotFound",
    6: "AlreadyExists", 7: "PermissionDenied", 8: "ResourceExhausted", 9: "FailedPrecondition", 10: "Aborted",
    11: "OutOfRange", 12: "Unimplemented", 13: "Internal", 14: "Unavailable", 15: "DataLoss", 16: "Unauthenticated",
}  # fmt: skip


class CriError(RuntimeCallError):
    """A call that gRPC answered with an error: the name of its code, and the text."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        self.text = text
        super().__init__(f"rpc error: code = {code} desc = {text}")


@value_object
class Method:
    """A call. `streaming`: it has many answers."""

    service: str
    name: str
    request: type[Message]
    response: type[Message]
    streaming: bool

    @property
    def path(self) -> str:
        return f"/{cri_pb2.DESCRIPTOR.package}.{self.service}/{self.name}"


class Calls(Protocol):
    """The other side of CRI, wherever it is. Both raise CriError. `timeout` is in microseconds; None: no limit."""

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any: ...
    def stream(self, name: str, request: Any) -> AsyncIterator[Any]: ...


@cache
def methods() -> dict[str, Method]:
    """By name, which is unique over both services."""
    return {
        method.name: Method(
            service,
            method.name,
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
            method.server_streaming,
        )
        for service in SERVICES
        for method in cri_pb2.DESCRIPTOR.services_by_name[service].methods
    }
