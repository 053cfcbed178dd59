"""`kubesim up --runtime cni`: pods with networks made by real CNI plugins in a private node, and real sockets."""

from __future__ import annotations

import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest

from tests.support.up import TIMEOUT_S, Up, running_up

both = pytest.mark.parametrize("version", ["1.36", "1.20"])


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("up"), "--runtime", "cni", "--nodes", "2", "--speed", "5") as up:
        up.run_pod("web", image="nginx")
        up.run_pod("box", "sh", "-c", "echo waits | nc -l -p 7000; sleep 100000")
        yield up
        code, _, error = up.stop()
        assert (code, error) == (0, "")


def address(up: Up, pod: str) -> str:
    return str(up.get("pod", pod)["status"]["podIP"])


@pytest.fixture
def forwarded(up: Up, request: pytest.FixtureRequest) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The local port that leads to a port of pod web, and kubectl."""
    version, port = request.param
    command = up.command("port-forward", "pod/web", f":{port}", version=version)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline().partition("127.0.0.1:")[2].split()[0]), process
        process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize("forwarded", [("1.36", 80), ("1.20", 80)], indirect=True)
def test_port_forward_connects_in_the_network_of_the_pod(forwarded: tuple[int, subprocess.Popen[str]]) -> None:
    """Several connections at once; a bare TCP client sees the bytes of the server."""
    for _ in range(2):
        with urllib.request.urlopen(f"http://127.0.0.1:{forwarded[0]}/", timeout=TIMEOUT_S) as answer:
            assert answer.read() == b"<h1>Welcome to nginx!</h1>\n"
    with socket.create_connection(("127.0.0.1", forwarded[0]), TIMEOUT_S) as first:
        with socket.create_connection(("127.0.0.1", forwarded[0]), TIMEOUT_S) as second:
            second.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert second.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
        first.sendall(b"GET /none HTTP/1.1\r\nHost: x\r\n\r\n")
        assert first.makefile("rb").readline() == b"HTTP/1.1 404 Not Found\r\n"


@pytest.mark.parametrize("forwarded", [("1.36", 81)], indirect=True)
def test_port_forward_to_a_port_on_which_nothing_listens(forwarded: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = forwarded
    with pytest.raises(OSError, match=r"closed|reset"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=TIMEOUT_S)
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    assert "dial tcp4 127.0.0.1:81: connect: connection refused" in process.stderr.read()


@both
def test_a_pod_reaches_another_by_its_address(up: Up, version: str) -> None:
    """The request leaves one network namespace and arrives in another, maybe on another node."""
    page = up.kubectl("exec", "box", "--", "wget", "-qO-", f"http://{address(up, 'web')}/", version=version)
    assert page == "<h1>Welcome to nginx!</h1>\n"


def test_a_replaced_pod_gets_a_network_again(up: Up) -> None:
    up.run_pod("gone", image="nginx")
    up.kubectl("delete", "pod", "gone", "--grace-period=1")
    up.run_pod("gone", image="nginx")
    assert up.kubectl("exec", "box", "--", "wget", "-qO-", f"http://{address(up, 'gone')}/").startswith("<h1>")
