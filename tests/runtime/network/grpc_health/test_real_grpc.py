"""The health client calls a real gRPC server, and a real client calls the simulated listeners; on loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from functools import partial
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import HealthServicer

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.kubelet.probes.handlers import ProbeAnswer, grpc_probe
from kubesim.linux.private_node.holder_client import PrivateNode, Underlay
from kubesim.runtime.network.real_network import RealNetwork
from kubesim.runtime.network.real_ports import Silences
from kubesim.shell import Listener

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def node() -> Iterator[PrivateNode]:
    underlay = Underlay("host")
    yield underlay.host_node()
    underlay.close()


@contextmanager
def server(servicer: health_pb2_grpc.HealthServicer | None) -> Iterator[int]:
    """A real server; returns its port."""
    serving = grpc.server(futures.ThreadPoolExecutor(1))
    if servicer is not None:
        health_pb2_grpc.add_HealthServicer_to_server(servicer, serving)
    port = serving.add_insecure_port(f"{HOST}:0")
    serving.start()
    try:
        yield port
    finally:
        serving.stop(None).wait()


def probed(node: PrivateNode, port: int, service: str = "", timeout: int = SECOND) -> ProbeAnswer:
    async def main() -> ProbeAnswer:
        network = RealNetwork(LoopClock(), node, Silences())
        return await grpc_probe(network, LoopClock(), HOST, port, service, timeout)

    return run_virtual(main)


def test_a_server_shows_the_status_of_each_of_its_services(node: PrivateNode) -> None:
    servicer = HealthServicer()
    status = health_pb2.HealthCheckResponse
    for service, said in (("", status.SERVING), ("sick", status.NOT_SERVING), ("new", status.UNKNOWN)):
        servicer.set(service, said)
    with server(servicer) as port:
        assert probed(node, port) == ProbeAnswer("success", "service healthy")
        assert probed(node, port, "sick") == ProbeAnswer("failure", 'service unhealthy (responded with "NOT_SERVING")')
        assert probed(node, port, "new") == ProbeAnswer("failure", 'service unhealthy (responded with "UNKNOWN")')
        unknown = probed(node, port, "other" * 2000)  # more than fits into one frame of header fields
        assert unknown.output.startswith("error: health rpc probe failed: rpc error: code = NotFound desc =")


def test_a_server_without_health_checks_is_named(node: PrivateNode) -> None:
    with server(None) as port:
        answer = probed(node, port)
    said = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): Method not found!"
    assert answer == ProbeAnswer("failure", said)


class Refusing(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    def Check(self, request: health_pb2.HealthCheckRequest, context: grpc.ServicerContext) -> None:
        context.set_trailing_metadata((("x-long", "y" * 3000), ("x-bin-bin", b"\0\1")))
        context.abort(grpc.StatusCode.PERMISSION_DENIED, f"nicht für «{request.service}»: 100%\n")


def test_a_status_comes_with_its_message(node: PrivateNode) -> None:
    with server(Refusing()) as port:
        answer = probed(node, port, "größer")
    assert answer.output == (
        "error: health rpc probe failed: rpc error: code = PermissionDenied desc = nicht für «größer»: 100%\n"
    )


class Silent(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    def __init__(self) -> None:
        self.gone = futures.Future[None]()

    def Check(self, request: health_pb2.HealthCheckRequest, context: grpc.ServicerContext) -> None:
        context.add_callback(lambda: self.gone.set_result(None))
        self.gone.result(10)


def test_a_server_that_does_not_respond_causes_a_timeout(node: PrivateNode) -> None:
    with server(Silent()) as port:
        answer = probed(node, port, timeout=SECOND // 2)
    assert answer == ProbeAnswer("failure", "timeout: health rpc did not complete within 500ms")


# -- our listeners --------------------------------------------------------------------------------------------------


def test_a_real_client_calls_a_simulated_listener(node: PrivateNode) -> None:
    async def talk() -> list[str]:
        network = RealNetwork(LoopClock(), node, Silences())
        ports, known = network.new_ports(), {"": "SERVING", "sick": "NOT_SERVING"}
        listener = ports.listen(Listener(free_port(), HOST, health=known.get))
        received = await asyncio.to_thread(asked, listener.port)
        ports.close(listener)
        return received

    assert asyncio.run(talk()) == [
        "SERVING",
        "NOT_SERVING",
        "NOT_FOUND: unknown service",
        "SERVING",
        "UNIMPLEMENTED: unknown method Watch for service grpc.health.v1.Health",
        "UNIMPLEMENTED: unknown service no.Such",
    ]


def free_port() -> int:
    with socket.create_server((HOST, 0)) as found:
        number: int = found.getsockname()[1]
    return number


def asked(port: int) -> list[str]:
    """From a real client, all on one connection."""
    with grpc.insecure_channel(f"{HOST}:{port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        calls: list[Callable[[], Any]] = [
            partial(stub.Check, asking(service), timeout=10) for service in ("", "sick", "x", "")
        ]
        other = channel.unary_unary("/no.Such/Method", request_serializer=bytes)
        calls += [lambda: next(stub.Watch(asking(""), timeout=10)), lambda: other(b"", timeout=10)]
        return [reported(call) for call in calls]


def reported(call: Callable[[], Any]) -> str:
    try:
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(call().status))
    except grpc.RpcError as error:
        return f"{error.code().name}: {error.details()}"


def asking(service: str) -> health_pb2.HealthCheckRequest:
    return health_pb2.HealthCheckRequest(service=service)
