"""`kubesim cri serve`, `inject`, `record` and `compare` as commands: sockets, faults, clean-up, and bad input."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket as sockets
import stat
import subprocess
from collections.abc import Callable, Coroutine
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from kubesim.cli.main import main
from kubesim.runtime.cri.record.calls_of_pods import asks_by_pod
from kubesim.runtime.cri.record.recording import read_recording
from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError, methods
from tests.support.cri_node import CriClient, container_message
from tests.support.cri_process import connected, running, serving
from tests.support.processes import kubesim
from tests.support.up import TIMEOUT_S


def run(*words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that ends by itself."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        try:
            code = main(["cri", *words])
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    return code, out.getvalue(), error.getvalue()


def check_refused(problem: str, *words: str) -> None:
    code, _, error = run(*words)
    assert (code, error.count("\n")) == (2, 1), error
    assert problem.lower() in error.lower()


def with_socket(path: Path, story: Callable[[CriClient], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with connected(path) as client:
            await story(client)

    asyncio.run(main())


def stopped(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str]:
    process.send_signal(number)
    out, error = process.communicate(timeout=TIMEOUT_S)
    assert "Traceback" not in out + error
    return process.returncode, error


# -- serve ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_socket_is_its_owners_alone_and_goes_with_the_server(tmp_path: Path, number: int) -> None:
    socket = tmp_path / "cri.sock"
    with serving(socket) as process:
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        assert stopped(process, number) == (0, "")
    assert not socket.exists()


def test_a_socket_that_nobody_serves_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cri.sock"
    with sockets.socket(sockets.AF_UNIX) as left:
        left.bind(str(path))

    async def story(client: CriClient) -> None:
        assert (await client.call("Version")).runtime_name == "containerd"

    process = subprocess.Popen(
        kubesim("cri", "serve", "--listen", f"unix://{path}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert "serves a simulated container runtime" in process.stdout.readline()
        with_socket(path, story)
        code, _, error = run("serve", "--listen", f"unix://{path}")
        assert (code, error) == (
            2,
            f"kubesim: error: --listen {path}: another process listens there: stop it, or name another path\n",
        )
        assert stopped(process) == (0, "")
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--listen", "tcp://127.0.0.1:1"), "must be the absolute path of a Unix socket"),
        (("--listen", "unix:///no/such/folder/x.sock"), "there is no directory /no/such/folder"),
        (("--listen", "unix:///etc/passwd"), "exists and is not a socket"),
        (("--pod-addresses", "nonsense"), "must be a range of IPv4 addresses"),
        (("--pod-addresses", "127.1.0.0/30"), "give at least a /24"),
        (("--scenario", "/no/such.yaml"), "/no/such.yaml"),
        (("--runtime", "cri"), "--runtime cri"),
    ],
)
def test_bad_flags_of_serve_are_one_line(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    listen = () if "--listen" in words else ("--listen", f"unix://{tmp_path}/s.sock")
    check_refused(problem, "serve", *listen, *words)


def test_scenarios_give_images_behaviours_and_faults(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: served}
spec:
  images: [{name: "missing:*", missing: true}, {name: "*", pullTime: 1ms}]
  behaviours: [{image: "*crash*", runFor: 1ms, exitCode: 7}]
  faults: [{operation: StopPodSandbox, error: stuck, times: 1}]
"""
    )

    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        with pytest.raises(CriError, match="not found"):
            await client.pull("missing:1")
        identifier = await client.run(sandbox, image="crash:1")
        await client.exited(identifier)
        assert (await client.status(identifier)).exit_code == 7
        with pytest.raises(CriError, match="stuck"):
            await client.call("StopPodSandbox", pod_sandbox_id=sandbox)
        await client.call("StopPodSandbox", pod_sandbox_id=sandbox)

    with running(tmp_path / "cri.sock", "serve", "--scenario", str(tmp_path / "s.yaml")):
        with_socket(tmp_path / "cri.sock", story)


# -- hostile clients --------------------------------------------------------------------------------------------------


def test_no_call_takes_the_server_down(tmp_path: Path) -> None:
    path = tmp_path / "cri.sock"

    async def raw() -> None:
        """Bytes that are no messages, unknown calls and services, and messages that are too large."""
        async with grpc.aio.insecure_channel(
            f"unix://{path}", options=[("grpc.max_send_message_length", -1)]
        ) as channel:
            for name, data, code in (
                ("/runtime.v1.RuntimeService/RunPodSandbox", b"\xff\xff\xff", grpc.StatusCode.INTERNAL),
                ("/runtime.v1.RuntimeService/NoSuchCall", b"", grpc.StatusCode.UNIMPLEMENTED),
                ("/runtime.v1alpha2.RuntimeService/Version", b"", grpc.StatusCode.UNIMPLEMENTED),
                ("/runtime.v1.ImageService/PullImage", b"\n" * (17 << 20), grpc.StatusCode.RESOURCE_EXHAUSTED),
                ("/kubesim.dev.Faults/Inject", b"\xff", grpc.StatusCode.INVALID_ARGUMENT),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as failed:
                    await channel.unary_unary(name)(data, timeout=TIMEOUT_S)
                assert failed.value.code() is code, name

    async def story(client: CriClient) -> None:
        await raw()
        unary = [method.name for method in methods().values() if not method.streaming]
        codes = {name: await code_of(client, name) for name in unary}
        assert set(codes.values()) == {"OK", "Unknown"}, codes
        sandbox = await client.sandbox()
        wild = container_message(*("\x1b[2J", "$(", "x" * 100_000), name="../../etc", working_dir="no/../such")
        wild.mounts.add(container_path="", host_path="/proc/self/fd/0")
        wild.mounts.add(container_path="/../..", host_path="")
        wild.envs.add(key="=", value=b"\xff\xfe\0")
        wild.linux.resources.memory_limit_in_bytes = -(1 << 62)
        wild.linux.security_context.run_as_user.value = -5
        wild.linux.security_context.masked_paths.extend(["", "relative", "/../.."])
        try:
            identifier = await client.create(sandbox, wild)
            await client.call("StartContainer", container_id=identifier)
        except CriError:
            pass
        assert (await client.call("Version")).version

    with serving(path) as process:
        with_socket(path, story)
        assert stopped(process) == (0, "")


def test_a_client_that_goes_away_leaves_the_server_well(tmp_path: Path) -> None:
    path = tmp_path / "cri.sock"

    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        identifier = await client.run(sandbox, "top")
        calls: list[asyncio.Future[Any]] = [
            asyncio.create_task(client.exec(identifier, "sleep", "1000", timeout=0)),
            asyncio.create_task(client.call("StopContainer", container_id=identifier, timeout=1000)),
            asyncio.ensure_future(anext(client.stream("GetContainerEvents"))),
        ]
        await asyncio.sleep(0.2)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def after(client: CriClient) -> None:
        (listed,) = (await client.call("ListPodSandbox")).items
        await client.call("RemovePodSandbox", pod_sandbox_id=listed.id)
        assert not (await client.call("ListContainers")).containers

    with serving(path) as process:
        with_socket(path, story)
        with_socket(path, after)
        assert stopped(process) == (0, "")


async def code_of(client: CriClient, name: str) -> str:
    """Of a call without any field."""
    try:
        await client.call(name)
    except CriError as error:
        return error.code
    return "OK"


# -- inject -----------------------------------------------------------------------------------------------------------


def test_faults_are_injected_listed_and_cleared(tmp_path: Path) -> None:
    path = tmp_path / "cri.sock"
    endpoint = ("--endpoint", f"unix://{path}")

    async def fails(client: CriClient) -> None:
        for _ in range(2):
            with pytest.raises(CriError, match="boom"):
                await client.sandbox()
        await client.sandbox()

    with serving(path):
        assert run("inject", "{operation: RunPodSandbox, error: boom, times: 2}", *endpoint)[1] == "1 added\n"
        with_socket(path, fails)
        assert run("inject", "--list", *endpoint)[1] == "1: RunPodSandbox: 3 operations, happened 2 times\n"
        (tmp_path / "f.yaml").write_text(
            "- {operation: PullImage, error: x}\n- {operation: StopContainer, error: later}\n"
        )
        assert run("inject", "-f", str(tmp_path / "f.yaml"), *endpoint)[1] == "2 added\n"
        assert run("inject", "--clear", *endpoint)[1] == "3 removed\n"
        assert run("inject", "--list", *endpoint)[1] == "no faults\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "give one of FAULT, --filename, --clear and --list"),
        (("{operation: Nonsense, error: x}",), "Nonsense"),
        (("[1, 2]",), "must be a fault"),
        (("{operation: CreateContainer, crash: kubelet}",), "crash"),
        (("-f", "/no/such.yaml"), "--filename /no/such.yaml: No such file or directory"),
        (("--list",), "failed to connect"),
    ],
)
def test_bad_faults_are_one_line(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    check_refused(problem, "inject", *words, "--endpoint", f"unix://{tmp_path}/nobody.sock")


# -- record and compare -----------------------------------------------------------------------------------------------


def test_calls_through_the_proxy_are_recorded_and_compared(tmp_path: Path) -> None:
    runtime, proxy = tmp_path / "cri.sock", tmp_path / "proxy.sock"

    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        with pytest.raises(CriError) as failed:
            await client.call("StartContainer", container_id="nobody")
        assert (failed.value.code, failed.value.text) == (
            "NotFound",
            'an error occurred when try to find container "nobody": not found',
        )
        auth = cri.AuthConfig(username="user", password="correct horse")
        await client.call("PullImage", image=cri.ImageSpec(image="busybox"), auth=auth)
        identifier = await client.run(sandbox, "top", image="busybox")
        assert await client.exec(identifier, "echo", "secret") == (0, "secret\n", "")
        await client.call("RemovePodSandbox", pod_sandbox_id=sandbox)

    recordings = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with serving(runtime):
        for recording in recordings:
            words = ("record", "--endpoint", f"unix://{runtime}", "-o", str(recording))
            with running(proxy, *words) as process:
                assert stat.S_IMODE(proxy.stat().st_mode) == 0o600
                with_socket(proxy, story)
                assert stopped(process) == (0, "")
            assert not proxy.exists()
    for recording in recordings:
        assert stat.S_IMODE(recording.stat().st_mode) == 0o600
        text = recording.read_text()
        assert "correct horse" not in text
        assert "secret\\n" not in text
        found = asks_by_pod(read_recording(io.StringIO(text), "r"))["default/web"]
        assert [ask.text for ask in found] == [
            "RunPodSandbox",
            "CreateContainer main",
            "StartContainer main",
            "RemovePodSandbox",
        ]
    assert run("compare", *map(str, recordings), "--requests")[:2] == (
        0,
        "2 of 2 pods: the same calls in the same order\n",
    )
    assert "  2 CreateContainer main\n" in run("compare", str(recordings[0]))[1]
    other = run("compare", *map(str, recordings), "--pod", "default/other", "-o", "json")
    assert json.loads(other[1]) == {"pods": 0, "differences": []}


def test_a_difference_is_reported(tmp_path: Path) -> None:
    header = '{"kind": "header", "format": "kubesim.dev/cri-recording/v1"}\n'
    config = '{"config": {"metadata": {"name": "web", "namespace": "default", "uid": "u"}}}'
    asked = f'{{"kind": "call", "call": 1, "t": 0, "method": "RunPodSandbox", "request": {config}}}\n'
    (tmp_path / "a").write_text(header + asked + '{"kind": "return", "call": 1, "t": 0, "code": "OK"}\n')
    (tmp_path / "b").write_text(header + asked + '{"kind": "return", "call": 1, "t": 0, "code": "Unknown"}\n')
    code, out, _ = run("compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert (code, out.splitlines()) == (
        1,
        [
            "default/web: first difference at call 1",
            "  A: RunPodSandbox",
            "  B: RunPodSandbox -> Unknown",
            "0 of 1 pods: the same calls in the same order",
        ],
    )


PROXY = ("--listen", "unix:///tmp/x")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("compare", "/no/such"), "/no/such: No such file or directory"),
        (("compare", "/etc/hostname"), "/etc/hostname:1"),
        (("compare", "/bin/true"), "/bin/true"),
        (
            ("record", "--listen", "unix:///tmp/x", "--endpoint", "unix:///tmp/x", "-o", "/dev/null"),
            "the endpoint itself",
        ),
        (
            ("record", "--listen", "unix:///tmp/x", "--endpoint", "unix:///tmp/y", "-o", "/no/such/f"),
            "--output /no/such/f",
        ),
    ],
)
def test_bad_recordings_are_one_line(words: tuple[str, ...], problem: str) -> None:
    check_refused(problem, *words)


def test_a_runtime_that_is_away_is_an_error_of_the_call(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.call("Version")
        assert failed.value.code == "Unavailable"

    words = ("record", "--endpoint", f"unix://{tmp_path}/nobody.sock", "-o", os.devnull)
    with running(tmp_path / "p.sock", *words) as process:
        with_socket(tmp_path / "p.sock", story)
        assert stopped(process) == (0, "")
