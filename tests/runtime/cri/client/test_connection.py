"""Endpoints at which no container runtime answers: each is one line that says what to do."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.errors import UsageError
from kubesim.runtime.cri.client.connection import HeldCalls, RuntimeIdentity, identify
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.endpoint import socket_path
from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls, GrpcServer
from kubesim.runtime.cri.wire.methods import CriError


@pytest.fixture
def path() -> Iterator[str]:
    """Of a socket: short, because it has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="ks-") as directory:
        yield f"{directory}/s"


class Answers:
    """Implements `Calls`: a runtime that knows some answers."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        if name not in self.answers:
            raise CriError("Unimplemented", f"unknown method {name}")
        answer = self.answers[name]
        if isinstance(answer, CriError):
            raise answer
        return answer

    def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        raise CriError("Unimplemented", f"unknown method {name}")


def identified(path: str, serve: Callable[[], Awaitable[Any]] | None = None) -> RuntimeIdentity:
    async def main() -> RuntimeIdentity:
        server = None if serve is None else await serve()
        calls = GrpcCalls(path)
        try:
            return await identify(HeldCalls(calls, LoopClock()), f"unix://{path}")
        finally:
            await calls.close()
            if server is not None:
                with LoopClock().external():
                    await server.close()

    return run_virtual(main)


def problem(path: str, serve: Callable[[], Awaitable[Any]] | None = None) -> str:
    with pytest.raises(UsageError) as raised:
        identified(path, serve)
    text = str(raised.value)
    assert "\n" not in text
    assert text.startswith(f"--cri-endpoint unix://{path}: ")
    return text.removeprefix(f"--cri-endpoint unix://{path}: ")


def served(path: str, **answers: Any) -> Callable[[], Awaitable[GrpcServer]]:
    async def serve() -> GrpcServer:
        server = GrpcServer(Answers(**answers), path)
        await server.start()
        return server

    return serve


def version(**given: str) -> pb.VersionResponse:
    names = {"version": "0.1.0", "runtime_name": "mine", "runtime_version": "v9", "runtime_api_version": "v1"}
    return pb.VersionResponse(**{**names, **given})


def test_a_runtime_says_who_it_is(path: str) -> None:
    systemd = pb.RuntimeConfigResponse(linux=pb.LinuxRuntimeConfiguration(cgroup_driver="SYSTEMD"))
    found = identified(path, served(path, Version=version(), RuntimeConfig=systemd))
    assert found == RuntimeIdentity("mine", "v9", uses_systemd=True)


@pytest.mark.parametrize("value", [True, False])
def test_an_older_runtime_tells_the_driver_of_cgroups_in_its_configuration(path: str, value: bool) -> None:
    settings = {"containerd": {"runtimes": {"runc": {"options": {"SystemdCgroup": value}}}}}
    answers = {"Version": version(), "Status": pb.StatusResponse(info={"config": json.dumps(settings)})}
    assert identified(path, served(path, **answers)).uses_systemd is value


def test_no_socket(path: str) -> None:
    assert problem(path).startswith("no such file or directory: start the container runtime, or give the path")


def test_a_socket_on_which_nobody_listens(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path)
        assert problem(path) == "connection refused: nothing listens there: start the container runtime"


def test_a_socket_that_may_not_be_opened(path: str) -> None:
    """Tried as nobody, because root may open everything."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path)
        bound.listen()
        os.chmod(path, 0o600)
        os.chmod(Path(path).parent, 0o755)
        script = (
            "import grpc.aio, os, sys\n"  # what it imports may not be readable for nobody
            "from tests.runtime.cri.client.test_connection import problem\n"
            "os.setgid(65534); os.setuid(65534)\n"
            "print(problem(sys.argv[1]))"
        )
        line = [sys.executable, "-c", script, path]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "permission denied: run kubesim as root, or as a user who may open the socket\n", done.stderr


def test_a_server_that_is_not_grpc(path: str) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n" * 9)
        await writer.drain()
        writer.close()

    class Mail:
        async def close(self) -> None:
            self.server.close()

        async def start(self) -> Mail:
            self.server = await asyncio.start_unix_server(greet, path)
            return self

    assert "error reading server preface" not in problem(path, Mail().start)
    assert problem(path, Mail().start) == "it is not HTTP/2: give the socket of a container runtime"


def test_a_grpc_server_that_is_not_cri(path: str) -> None:
    class Other:
        async def close(self) -> None:
            await self.server.stop(None)

        async def start(self) -> Other:
            self.server = grpc.aio.server()
            self.server.add_insecure_port(f"unix:{path}")
            await self.server.start()
            return self

    assert problem(path, Other().start) == (
        "no service runtime.v1 there: it is not a container runtime, or its CRI plugin is disabled, or it is older "
        "than CRI v1 (containerd before 1.6)"
    )


def test_an_old_version_of_cri(path: str) -> None:
    old = version(runtime_name="containerd", runtime_api_version="v1alpha2")
    assert problem(path, served(path, Version=old)) == "runtime containerd, CRI v1alpha2: kubesim needs CRI v1"


def test_a_runtime_that_refuses(path: str) -> None:
    refusal = CriError("Unknown", "server is not initialized yet")
    text = problem(path, served(path, Version=refusal))
    assert text == "rpc error: code = Unknown desc = server is not initialized yet"


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:80", "tcp://127.0.0.1:1", "containerd.sock", "unix://x.sock"])
def test_only_absolute_paths_of_sockets_are_endpoints(endpoint: str) -> None:
    with pytest.raises(UsageError, match="must be the absolute path of a Unix socket"):
        socket_path(endpoint, "--cri-endpoint")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "scenarios/cri/probes.yaml", "-q"],
        ["test", "scenarios/cri/sidecar.yaml"],
        ["cri", "--help"],
        ["run", "scenarios/cri/probes.yaml", "--runtime", "cri", "--cri-endpoint", "tcp://x"],
    ],
)
def test_grpc_is_imported_only_by_what_needs_it(words: list[str]) -> None:
    script = (
        "import sys\nfrom kubesim.cli.main import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        "sys.exit('grpc' in sys.modules or 'google.protobuf' in sys.modules)"
    )
    line = [sys.executable, "-c", script]
    assert subprocess.run(line, capture_output=True, check=False, timeout=60).returncode == 0
