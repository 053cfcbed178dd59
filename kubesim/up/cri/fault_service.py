"""Faults while the runtime is served: a small gRPC service of our own at the same socket.

A request is YAML: a fault of a scenario (`spec.faults`), or a list of them. The response is text.
"""

from __future__ import annotations

from typing import Any

import grpc

from kubesim.errors import UsageError
from kubesim.golang.json import dumps
from kubesim.golang.yaml import YamlError, yaml_to_json
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.scenario.faults.make import fault_states
from kubesim.scenario.language.operations.fault_items import FaultItem
from kubesim.scenario.language.operations.names import matching
from kubesim.scenario.load.loader import parse_scenario

SERVICE = "kubesim.dev.Faults"
INJECT, CLEAR, LIST = "Inject", "Clear", "List"
_MAX_REQUEST = 1 << 20
_SERVED_GROUPS = ("runtime", "image", "cni")


def method_path(name: str) -> str:
    return f"/{SERVICE}/{name}"


def parse_faults(text: str, source: str) -> tuple[FaultItem, ...]:
    """Raises UsageError."""
    try:
        value = yaml_to_json(text)
    except YamlError as error:
        raise UsageError(f"{source}: {error}") from None
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, dict) for item in items):
        raise UsageError(f"{source}: must be a fault, such as {{operation: CreateContainer, error: boom}}, or a list")
    whole = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "faults"}}
    faults = parse_scenario(dumps({**whole, "spec": {"faults": items}}), source).spec.faults
    check_faults(faults, source)
    return faults


def check_faults(faults: tuple[FaultItem, ...], source: str) -> None:
    """Refuse those that nothing here can meet. Raises UsageError."""
    for fault in faults:
        groups = {group for group, _ in matching(fault.operation)}
        if not groups & {*_SERVED_GROUPS}:
            raise UsageError(
                f"{source}: {fault.operation} is an operation of {' and '.join(sorted(groups))}: "
                f"a runtime has {', '.join(_SERVED_GROUPS)}"
            )
        if fault.crash is not None:
            raise UsageError(f"{source}: crash is not supported by kubesim cri serve: stop it and start it again")


class FaultService:
    """The handlers of the service."""

    def __init__(self, interceptor: Interceptor) -> None:
        self._interceptor = interceptor

    def handler(self) -> grpc.GenericRpcHandler:
        methods = {INJECT: self._inject, CLEAR: self._clear, LIST: self._list}
        handlers = {name: grpc.unary_unary_rpc_method_handler(method) for name, method in methods.items()}
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    async def _inject(self, request: bytes, context: Any) -> bytes:
        try:
            if len(request) > _MAX_REQUEST:
                raise UsageError("the fault is larger than 1 MiB")
            faults = parse_faults(request.decode(), "the fault")
        except (UsageError, UnicodeDecodeError) as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise
        known = self._interceptor.faults
        known.extend(fault_states(faults, len(known)))
        return f"{len(faults)} added\n".encode()

    async def _clear(self, request: bytes, context: Any) -> bytes:
        count = len(self._interceptor.faults)
        self._interceptor.faults.clear()
        return f"{count} removed\n".encode()

    async def _list(self, request: bytes, context: Any) -> bytes:
        lines = [
            f"{number}: {state.fault.operation}: {state.operations} operations, happened {state.happened} times\n"
            for number, state in enumerate(self._interceptor.faults, 1)
        ]
        return "".join(lines).encode()
