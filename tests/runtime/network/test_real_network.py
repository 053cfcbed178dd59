"""Simulated containers that really listen and connect: probes, ports of the node, pods on another node."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.app import run_scenario
from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.stopwatch import Stopwatch
from kubesim.cni.exec.process import RealExec
from kubesim.linux.private_node.holder_client import PrivateNode, Underlay
from kubesim.runtime.network.node_network import (
    ConnectError,
    ConnectTimeout,
    GrpcStatusError,
    NetworkError,
    NodeRequest,
    ResponseTimeout,
)
from kubesim.runtime.network.real_network import RealNetwork
from kubesim.runtime.network.real_ports import Silences
from kubesim.runtime.simulated.network import ROUND_TRIP, SimulatedNetwork
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import load_scenario, parse_scenario
from kubesim.shell import HttpAnswer, Listener, Ports
from kubesim.shell import HttpRequest as ShellRequest
from kubesim.shell.kernel.ports import AddressInUse
from kubesim.trace import HashSink, MemorySink
from kubesim.trace.records import CniExec, EventRecorded, Note

NETNS = "/var/run/netns/one"
TIMEOUT = 2 * SECOND


@pytest.fixture(scope="module")
def node() -> Iterator[PrivateNode]:
    underlay = Underlay()
    node = underlay.new_node()
    node.join(["10.0.0.1/16"], [])
    yield node
    node.close()
    underlay.close()


Talk = Callable[[RealNetwork, Ports], Coroutine[Any, Any, None]]


def talked(node: PrivateNode, talk: Talk) -> None:
    """In virtual time: a network, and ports of the node itself."""

    async def main() -> None:
        network = RealNetwork(LoopClock(), node, Silences())
        await talk(network, network.new_ports())

    run_virtual(main)


def get(port: int, host: str = "127.0.0.1", scheme: str = "http") -> NodeRequest:
    return NodeRequest(scheme, host, port, "/path?x=1", f"{scheme}://{host}:{port}/path?x=1", (("Accept", "*/*"),))


def test_a_get_reaches_the_listener_and_its_response_is_returned(node: PrivateNode) -> None:
    async def talk(network: RealNetwork, ports: Ports) -> None:
        asked: list[ShellRequest] = []

        def answer(request: ShellRequest) -> HttpAnswer:
            asked.append(request)
            return HttpAnswer(302, "go on", (("Location", "/other"),))

        listener = ports.listen(Listener(80, answer=answer))
        response = await network.http_get(get(80), TIMEOUT)
        assert (response.status, response.body, response.location) == (302, b"go on", "/other")
        assert asked[0].path == "/path?x=1"
        assert dict(asked[0].headers) == {"Host": "127.0.0.1:80", "Accept": "*/*", "Connection": "close"}
        with pytest.raises(NetworkError, match="server gave HTTP response to HTTPS client"):
            await network.http_get(get(80, scheme="https"), TIMEOUT)
        ports.close(listener)
        with pytest.raises(ConnectError, match=r"dial tcp 127.0.0.1:80: connect: connection refused"):
            await network.http_get(get(80), TIMEOUT)

    talked(node, talk)


def test_a_connection_without_a_request_is_noticed(node: PrivateNode) -> None:
    async def talk(network: RealNetwork, ports: Ports) -> None:
        noticed = []
        listener = ports.listen(Listener(81, on_connect=lambda: noticed.append(1)))
        await network.tcp_connect("127.0.0.1", 81, TIMEOUT)
        await network.tcp_connect("10.0.0.1", 81, TIMEOUT)
        assert len(noticed) == 2
        ports.close(listener)

    talked(node, talk)


@pytest.mark.parametrize("is_real", [True, False])
def test_grpc_health_checks_real_or_simulated(node: PrivateNode, is_real: bool) -> None:
    """The same listeners with the same responses."""

    async def talk(real: RealNetwork, ports: Ports) -> None:
        clock = LoopClock()
        simulated = SimulatedNetwork(clock)
        simulated.attach("127.0.0.1", ports)
        network, noticed = real if is_real else simulated, []
        known = {"": "SERVING", "sick": "NOT_SERVING"}
        listeners = [
            ports.listen(Listener(86, health=known.get, on_connect=lambda: noticed.append(86))),
            ports.listen(Listener(87, answer=lambda request: HttpAnswer(200), on_connect=lambda: noticed.append(87))),
            ports.listen(Listener(88, on_connect=lambda: noticed.append(88))),
        ]
        assert await network.grpc_health("127.0.0.1", 86, "", TIMEOUT) == "SERVING"
        assert await network.grpc_health("127.0.0.1", 86, "sick", TIMEOUT) == "NOT_SERVING"
        with pytest.raises(GrpcStatusError, match="code = NotFound desc = unknown service"):
            await network.grpc_health("127.0.0.1", 86, "other", TIMEOUT)
        for port in (87, 88, 89):
            with pytest.raises(ConnectError):
                await network.grpc_health("127.0.0.1", port, "", TIMEOUT)
        assert noticed == [86, 86, 86, 87, 88]
        assert clock.elapsed() == 6 * ROUND_TRIP
        for listener in listeners:
            ports.close(listener)

    talked(node, talk)


@pytest.mark.parametrize(("said", "error"), [(b"", ConnectTimeout), (b"\0\0\0\4\0\0\0\0\0", ResponseTimeout)])
def test_silence_means_no_connection_or_no_response(
    node: PrivateNode, said: bytes, error: type[NetworkError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An external server: it may announce HTTP/2, and then send nothing."""
    monkeypatch.setattr("kubesim.runtime.network.real_network.WALL_LIMIT_S", 1.0)

    async def talk(network: RealNetwork, ports: Ports) -> None:
        clock = LoopClock()
        with node.socket(listen=("127.0.0.1", 90)) as server:
            accepted: list[socket.socket] = []

            def accept() -> None:
                accepted.append(server.accept()[0])
                accepted[0].send(said)

            asyncio.get_running_loop().add_reader(server, accept)
            with pytest.raises(error):
                await network.grpc_health("127.0.0.1", 90, "", 60 * SECOND)
            assert clock.elapsed() == 60 * SECOND
            asyncio.get_running_loop().remove_reader(server)
            accepted[0].close()

    talked(node, talk)


def test_a_server_that_never_responds_takes_only_virtual_time(node: PrivateNode) -> None:
    async def talk(network: RealNetwork, ports: Ports) -> None:
        clock, watch = LoopClock(), Stopwatch()
        listener = ports.listen(Listener(82))
        with pytest.raises(ResponseTimeout):
            await network.http_get(get(82), 100 * SECOND)
        assert clock.elapsed() == 100 * SECOND
        assert watch.seconds() < 50
        ports.close(listener)

    talked(node, talk)


def test_a_hook_without_a_limit_waits_for_the_end_of_a_silent_server(node: PrivateNode) -> None:
    async def talk(network: RealNetwork, ports: Ports) -> None:
        clock = LoopClock()
        listener = ports.listen(Listener(85))
        clock.call_at(clock.now() + 40 * SECOND, ports.close, listener)
        clock.call_at(clock.now() + 41 * SECOND, lambda: None)  # time continues when the server has ended
        with pytest.raises(NetworkError, match="EOF"):
            await network.http_get(get(85), 0)
        assert 40 * SECOND <= clock.elapsed() <= 41 * SECOND

    talked(node, talk)


def test_without_a_listener_the_kernel_or_the_timeout_gives_the_error(node: PrivateNode) -> None:
    async def talk(network: RealNetwork, ports: Ports) -> None:
        clock = LoopClock()
        with pytest.raises(ConnectTimeout, match=r"dial tcp 10.0.9.9:80: i/o timeout"):
            await network.tcp_connect("10.0.9.9", 80, SECOND)
        assert clock.elapsed() == SECOND
        with pytest.raises(ConnectError, match=r"dial tcp 192.0.2.1:80: connect: network is unreachable"):
            await network.tcp_connect("192.0.2.1", 80, 10 * SECOND)
        with pytest.raises(ConnectError, match="lookup nowhere: no such host"):
            await network.tcp_connect("nowhere", 80, SECOND)

    talked(node, talk)


def test_ports_belong_to_their_namespace(node: PrivateNode) -> None:
    async def talk(network: RealNetwork, ports: Ports) -> None:
        node.new_netns(NETNS)
        inside = network.new_ports()
        inside.netns = NETNS
        listeners = [ports.listen(Listener(83)), inside.listen(Listener(83))]
        with pytest.raises(AddressInUse):
            network.new_ports().listen(Listener(83))
        with pytest.raises(AddressInUse):
            ports.listen(Listener(83))
        for each, listener in zip((ports, inside), listeners, strict=True):
            each.close(listener)
        node.remove_netns(NETNS)

    talked(node, talk)


def test_every_program_in_the_node_can_connect(node: PrivateNode) -> None:
    """A program that is not part of kubesim, in real time."""

    async def talk() -> str:
        network = RealNetwork(LoopClock(), node, Silences())
        ports = network.new_ports()
        listener = ports.listen(Listener(84, answer=lambda request: HttpAnswer(200, f"you want {request.path}")))
        program = b"exec 3<>/dev/tcp/127.0.0.1/84; printf 'GET /this HTTP/1.0\\r\\n\\r\\n' >&3; tail -n 1 <&3"
        said = await RealExec(spawn=node.spawn).exec_plugin("/bin/bash", program, {"PATH": os.environ["PATH"]})
        ports.close(listener)
        return said.decode()

    assert asyncio.run(talk()) == "you want /this"


# -- whole runs -----------------------------------------------------------------------------------------------------


def lived(text: str) -> tuple[RunResult, MemorySink]:
    sink = MemorySink()
    return run_scenario(parse_scenario(text, "x.yaml"), sinks=(sink, HashSink(placeholders=True))), sink


def test_pods_on_two_nodes_reach_each_other_and_a_port_of_a_node() -> None:
    two_nodes = load_scenario("scenarios/two-nodes.yaml")
    result = run_scenario(two_nodes, sinks=(HashSink(placeholders=True),))
    assert not result.expectations_failed
    assert result.phases["default/client"] == "Succeeded"
    paced = run_scenario(two_nodes, sinks=(HashSink(placeholders=True),), speed=50)
    assert paced.trace_hash == result.trace_hash


PODS = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: x}
spec:
  runtime: cni
  images: [{name: "*", present: true}]
  duration: 30s
---
apiVersion: v1
kind: Pod
metadata:
  name: slow
  annotations: {kubernetes.io/ingress-bandwidth: 1M, kubernetes.io/egress-bandwidth: 1M}
spec:
  containers:
    - {name: once, image: busybox, command: [sh, -c, "echo hello | nc -l -p 7"], livenessProbe: {tcpSocket: {port: 7}}}
    - {name: wrong, image: redis, command: [redis-server], readinessProbe: {httpGet: {port: 6379}, timeoutSeconds: 2}}
    - {name: host, image: busybox, command: [sh, -c, "sleep 1; nc -z 127.0.0.1 6379 && nc -z 10.0.0.1 9 && exit 3"]}
---
apiVersion: v1
kind: Pod
metadata: {name: of-node}
spec:
  hostNetwork: true
  containers: [{name: main, image: busybox, command: [httpd, -f, -p, "9"], readinessProbe: {tcpSocket: {port: 9}}}]
"""


def test_listeners_clients_and_bandwidth() -> None:
    result, sink = lived(PODS)
    ended = [record.text for record in sink.records if isinstance(record, Note) and "ended" in record.text]
    assert "container once ended with exit code 0 (Completed)" in ended  # from the connection of its probe
    assert "container host ended with exit code 3 (Error)" in ended
    events = [record for record in sink.records if isinstance(record, EventRecorded) and record.reason == "Unhealthy"]
    assert {event.container for event in events} == {"wrong"}
    assert "Client.Timeout exceeded while awaiting headers" in events[0].message
    added = [record for record in sink.records if isinstance(record, CniExec) and record.command == "ADD"]
    made = [link["name"] for link in added[-1].result["interfaces"]]
    assert any(name.startswith("bwp") for name in made)  # the queue that limits outgoing traffic
    assert lived(PODS)[0].trace_hash == result.trace_hash
