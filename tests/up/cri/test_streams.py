"""Streams into a served runtime with real kubectl, through a small kubelet: 1.36 by WebSocket, 1.20 by SPDY."""

from __future__ import annotations

import asyncio
import json
import socket as socket_module
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from tests.support.cri_node import container_message, sandbox_message
from tests.support.cri_process import connected, serving
from tests.support.mini_kubelet import TIMEOUT_S, MiniKubelet, mini_kubelet

both = pytest.mark.parametrize("version", ["1.36", "1.20"])


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("cri") / "cri.sock"
    with serving(path):
        yield path


def with_pod(
    socket: Path,
    directory: Path,
    story: Callable[[MiniKubelet], Coroutine[None, None, None]],
    *command: str,
    image: str = "busybox",
    config: Any = None,
    **fields: Any,
) -> None:
    async def main() -> None:
        async with connected(socket) as client:
            sandbox = await client.sandbox(config)
            try:
                container = await client.run(sandbox, *command, image=image, config=config, **fields)
                kubelet = MiniKubelet(client, sandbox, container, directory, fields.get("stdin", False))
                async with mini_kubelet(kubelet):
                    await story(kubelet)
            finally:
                await client.call("RemovePodSandbox", pod_sandbox_id=sandbox)

    asyncio.run(main())


@both
def test_exec_keeps_output_error_and_exit_code_apart(socket: Path, tmp_path: Path, version: str) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        script = "echo out; echo err >&2; exit 3"
        code, out, error = await kubelet.kubectl("exec", "web", "--", "sh", "-c", script, version=version)
        assert (code, out) == (3, "out\n")
        assert error == "err\ncommand terminated with exit code 3\n"

    with_pod(socket, tmp_path, story, "top")


@both
def test_exec_passes_its_input_on(socket: Path, tmp_path: Path, version: str) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        text = "".join(f"line {number}\n" for number in range(2000))
        assert await kubelet.kubectl("exec", "-i", "web", "--", "cat", version=version, input=text) == (0, text, "")

    with_pod(socket, tmp_path, story, "top")


@both
def test_exec_of_a_program_that_is_not_there(socket: Path, tmp_path: Path, version: str) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        code, _, error = await kubelet.kubectl("exec", "web", "--", "nosuch", version=version)
        assert code == 1
        assert 'exec: "nosuch": executable file not found in $PATH' in error

    with_pod(socket, tmp_path, story, "top")


@both
def test_attach_types_into_a_shell_until_its_input_ends(socket: Path, tmp_path: Path, version: str) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        code, out, _ = await kubelet.kubectl("attach", "-i", "web", version=version, input="echo -n hello\n")
        assert (code, out) == (0, "hello")
        assert (await kubelet.client.status(kubelet.container)).state == cri.CONTAINER_EXITED

    with_pod(socket, tmp_path, story, "/bin/sh", **ATTACHABLE)


def nginx_answers(version: str, port: int = 80) -> Callable[[MiniKubelet], Coroutine[None, None, None]]:
    """The story: kubectl forwards a port to the pod's, and nginx answers there."""

    async def story(kubelet: MiniKubelet) -> None:
        process = await kubelet.start("port-forward", "pod/web", f":{port}", version=version)
        assert process.stdout is not None
        async with asyncio.timeout(TIMEOUT_S):
            line = (await process.stdout.readline()).decode()
        local = line.partition("127.0.0.1:")[2].split()[0]
        assert await asyncio.to_thread(fetch, f"http://127.0.0.1:{local}/") == b"<h1>Welcome to nginx!</h1>\n"
        process.terminate()
        await process.communicate()

    return story


@both
def test_port_forward_reaches_the_program_that_listens(socket: Path, tmp_path: Path, version: str) -> None:
    with_pod(socket, tmp_path, nginx_answers(version), image="nginx")


def test_port_forward_on_the_network_of_the_host(socket: Path, tmp_path: Path) -> None:
    options = cri.NamespaceOption(network="NODE")
    context = cri.LinuxSandboxSecurityContext(namespace_options=options)
    config = sandbox_message("host", linux=cri.LinuxPodSandboxConfig(security_context=context))
    image = "gcr.io/k8s-staging-cri-tools/hostnet-nginx-amd64"
    with_pod(socket, tmp_path, nginx_answers("1.36", 12003), image=image, config=config)


def test_port_forward_into_a_real_network(tmp_path: Path) -> None:
    """CNI plugins made the pod's network namespace; the port is open only there."""
    path = tmp_path / "cri.sock"
    with serving(path, "--runtime", "cni"):
        with_pod(path, tmp_path, nginx_answers("1.36"), image="nginx")


# -- WebSockets -------------------------------------------------------------------------------------------------


STDIN, STDOUT, ERROR, RESIZE, CLOSE = b"\0", b"\1", b"\3", b"\4", b"\xff"
ATTACHABLE: dict[str, Any] = {"stdin": True, "stdin_once": True}


@asynccontextmanager
async def streaming(kubelet: MiniKubelet, call: str, **fields: Any) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    url = (await kubelet.client.call(call, container_id=kubelet.container, **fields)).url
    async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=("v5.channel.k8s.io",)) as opened:
        async with asyncio.timeout(TIMEOUT_S):
            yield opened


async def read_until(opened: aiohttp.ClientWebSocketResponse, text: bytes) -> bytes:
    """What comes on stdout, until it contains the text."""
    found = b""
    while text not in found:
        message = await opened.receive_bytes()
        found += message[1:] if message[:1] == STDOUT else b""
    return found


async def outcome(opened: aiohttp.ClientWebSocketResponse) -> str:
    async for message in opened:
        if message.data[:1] == ERROR:
            return str(json.loads(message.data[1:])["status"])
    return ""


def test_exec_with_a_terminal_and_input(socket: Path, tmp_path: Path) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        flags = {"stdin": True, "stdout": True, "tty": True}
        async with streaming(kubelet, "Exec", cmd=["sh"], **flags) as opened:
            await opened.send_bytes(RESIZE + b'{"Width": 100, "Height": 40}')
            await opened.send_bytes(STDIN + b"echo -n hello\r")
            assert b"hello" in await read_until(opened, b"hello/ #")
            await opened.send_bytes(STDIN + b"exit\r")
            assert await outcome(opened) == "Success"

    with_pod(socket, tmp_path, story, "top")


def test_attach_answers_each_line_before_the_input_ends(socket: Path, tmp_path: Path) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        async with streaming(kubelet, "Attach", stdin=True, stdout=True, stderr=True) as opened:
            await opened.send_bytes(STDIN + b"echo -n hello\n")
            assert await read_until(opened, b"hello") == b"hello"
            await opened.send_bytes(STDIN + b"if true\nthen echo again\nfi\n")
            assert await read_until(opened, b"\n") == b"again\n"
            await opened.send_bytes(CLOSE + STDIN)
            assert await outcome(opened) == "Success"

    with_pod(socket, tmp_path, story, "/bin/sh", **ATTACHABLE)


def test_many_commands_run_at_once_and_clients_may_go_away(socket: Path, tmp_path: Path) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        async def one(number: int) -> None:
            flags = {"stdin": True, "stdout": True, "stderr": True}
            async with streaming(kubelet, "Exec", cmd=["cat"], **flags) as opened:
                text = f"{number}\n".encode()
                await opened.send_bytes(STDIN + text)
                assert await read_until(opened, b"\n") == text
                if number % 2:
                    return  # without a word
                await opened.send_bytes(CLOSE + STDIN)
                assert await outcome(opened) == "Success"

        await asyncio.gather(*(one(number) for number in range(40)))
        assert (await kubelet.client.exec(kubelet.container, "echo", "well"))[1] == "well\n"

    with_pod(socket, tmp_path, story, "top")


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        return bytes(answer.read())


def test_a_streaming_url_works_once(socket: Path, tmp_path: Path) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        asked = {"container_id": kubelet.container, "cmd": ["ls"], "stdout": True}
        url = (await kubelet.client.call("Exec", **asked)).url
        host = url.removeprefix("http://").partition("/")[0]
        for path, status in ((url, 400), (url, 404), (f"http://{host}/exec/unknown", 404), (f"http://{host}/", 404)):
            with pytest.raises(urllib.error.HTTPError) as failed:
                await asyncio.to_thread(fetch, path)
            assert failed.value.code == status
            failed.value.close()

    with_pod(socket, tmp_path, story, "top")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "one of stdin, stdout, or stderr must be set"),
        ({"tty": True, "stderr": True}, "tty and stderr cannot both be true"),
    ],
)
def test_contradicting_streams_are_refused(socket: Path, tmp_path: Path, fields: dict[str, bool], text: str) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        with pytest.raises(CriError) as failed:
            await kubelet.client.call("Exec", container_id=kubelet.container, cmd=["ls"], **fields)
        assert (failed.value.code, failed.value.text) == ("InvalidArgument", text)

    with_pod(socket, tmp_path, story, "top")


# -- ports ------------------------------------------------------------------------------------------------------


def test_the_ports_of_a_pod_are_open_at_its_address(socket: Path, tmp_path: Path) -> None:
    async def story(kubelet: MiniKubelet) -> None:
        address = (await kubelet.client.sandbox_status(kubelet.sandbox)).network.ip
        assert address.startswith("127.88.0.")
        url = f"http://{address}:8080/healthz"
        assert await asyncio.to_thread(fetch, url) == b""
        await kubelet.client.call("StopContainer", container_id=kubelet.container, timeout=1)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(address, 8080)

    with_pod(socket, tmp_path, story, "/agnhost", "netexec", image="registry.k8s.io/e2e-test-images/agnhost:2.53")


def free_port() -> int:
    with socket_module.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_host_port_leads_to_the_port_of_the_pod(socket: Path, tmp_path: Path) -> None:
    port = free_port()

    async def main() -> None:
        async with connected(socket) as client:
            mapping = cri.PortMapping(container_port=8080, host_port=port)
            config = sandbox_message("mapped", port_mappings=[mapping])
            sandbox = await client.sandbox(config)
            image = "registry.k8s.io/e2e-test-images/agnhost:2.53"
            container = await client.create(sandbox, container_message("/agnhost", "netexec", image=image), config)
            await client.call("StartContainer", container_id=container)
            assert await asyncio.to_thread(fetch, f"http://127.0.0.1:{port}/hostname")
            await client.call("RemovePodSandbox", pod_sandbox_id=sandbox)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(main())
