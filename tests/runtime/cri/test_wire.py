"""The messages of CRI, compared with a table of the public API, and their transports."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.errors import UsageError
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.cri.wire.endpoint import socket_path
from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls, GrpcServer
from kubesim.runtime.cri.wire.in_process import InProcess
from kubesim.runtime.cri.wire.methods import Calls, CriError, methods

TABLE = Path(__file__).parent / "data" / "api.txt"
ROOT = Path(__file__).parent.parent.parent.parent


def facts() -> Iterator[str]:
    """What our descriptors say, as lines of the table."""
    file = cri_pb2.DESCRIPTOR
    for service in file.services_by_name.values():
        for method in service.methods:
            stream = "stream " if method.server_streaming else ""
            yield f"rpc {service.name}.{method.name} {method.input_type.name} {stream}{method.output_type.name}"
    for message in file.message_types_by_name.values():
        for field in message.fields:
            yield f"message {message.name} {field.number} {field.name} {type_of(field)} {label(field)}"
        for enum in message.enum_types:
            yield from values_of(enum)
        if not message.fields:
            yield f"message {message.name}"
    for enum in file.enum_types_by_name.values():
        yield from values_of(enum)


def values_of(enum: Any) -> Iterator[str]:
    return (f"enum {enum.name} {value.number} {value.name}" for value in enum.values)


SCALARS = {
    1: "double", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 13: "uint32",
}  # fmt: skip


def type_of(field: Any) -> str:
    if is_map(field):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        return f"{type_of(key)}:{type_of(value)}"
    named = field.message_type or field.enum_type
    return SCALARS[field.type] if named is None else named.name


def is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def label(field: Any) -> str:
    if is_map(field):
        return "map"
    return "repeated" if field.is_repeated else "oneof" if field.containing_oneof else "single"


def table() -> Iterator[str]:
    """The same of the public API. Members of a message or an enumeration stand indented below its name."""
    head, lines = "", TABLE.read_text().splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("  "):
            yield f"{head} {line.strip()}"
        else:
            head = line
            if not following.startswith("  "):
                yield head


def test_messages_and_calls_are_those_of_the_public_api() -> None:
    public = set(table())
    assert len(public) > 600
    assert set(facts()) == public


def test_the_generated_code_is_current(tmp_path: Path) -> None:
    from tools.proto import GENERATED, SOURCE, generate

    generate(tmp_path)
    folder = Path(SOURCE).parent
    for name in GENERATED:
        assert (tmp_path / folder / name).read_text() == (ROOT / folder / name).read_text(), "run make proto"


@pytest.mark.parametrize("module", ["kubesim.app", "kubesim.cli.run", "kubesim.up.cluster"])
def test_grpc_is_imported_only_where_it_is_used(module: str) -> None:
    script = f"import sys, {module}\nprint([name for name in ('grpc', 'google.protobuf') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_a_run_does_not_import_grpc() -> None:
    script = """
import sys
from kubesim.cli.main import main
assert main(["run", "scenarios/hello-pod.yaml", "-q"]) == 0
print([name for name in ("grpc", "google.protobuf") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.splitlines()[-1:] == ["[]"], ran.stderr


@pytest.mark.parametrize(
    ("endpoint", "problem"),
    [
        ("tcp://127.0.0.1:1", "must be the absolute path of a Unix socket"),
        ("unix://containerd.sock", "must be the absolute path of a Unix socket"),
        ("unix:///" + "x" * 120, "has at most 107 bytes"),
    ],
)
def test_an_endpoint_that_is_no_socket_is_refused(endpoint: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        socket_path(endpoint, "--cri-endpoint")


class Echo:
    """Answers some calls."""

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        if name == "Version":
            return cri_pb2.VersionResponse(version=request.version, runtime_name="echo")
        if name == "Status":
            await asyncio.get_running_loop().create_future()
        raise CriError("NotFound", f"{name}: not found")

    async def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        for number in range(3):
            yield cri_pb2.StreamContainersResponse(containers=[cri_pb2.Container(id=f"c{number}")])
        raise CriError("Unknown", "the end")


async def exercise(calls: Calls) -> None:
    version = await calls.call("Version", cri_pb2.VersionRequest(version="v1"))
    assert (version.version, version.runtime_name) == ("v1", "echo")
    with pytest.raises(CriError, match=r"^rpc error: code = NotFound desc = RemoveImage: not found$") as failed:
        await calls.call("RemoveImage", cri_pb2.RemoveImageRequest())
    assert failed.value.code == "NotFound"
    with pytest.raises(CriError, match=r"^rpc error: code = DeadlineExceeded desc = context deadline exceeded$"):
        await calls.call("Status", cri_pb2.StatusRequest(), SECOND // 10)
    found: list[str] = []

    async def read() -> None:
        async for answer in calls.stream("StreamContainers", cri_pb2.StreamContainersRequest()):
            found.extend(container.id for container in answer.containers)

    with pytest.raises(CriError, match=r"^rpc error: code = Unknown desc = the end$"):
        await read()
    assert found == ["c0", "c1", "c2"]


def test_within_a_process_in_virtual_time() -> None:
    async def main() -> int:
        clock = LoopClock()
        await exercise(InProcess(Echo(), clock))
        return clock.elapsed()

    assert run_virtual(main) == SECOND // 10


def test_over_a_socket_in_real_time(tmp_path: Path) -> None:
    path = str(tmp_path / "cri.sock")

    async def main() -> None:
        clock = LoopClock()
        clock.begin(1.0)
        with clock.listening():
            calls = GrpcCalls(path)
            with pytest.raises(CriError, match=f"dial unix {path}: connect: no such file or directory"):
                await calls.call("Version", cri_pb2.VersionRequest())
            server = GrpcServer(Echo(), path)
            await server.start()
            later = GrpcCalls(path)
            try:
                await exercise(later)
            finally:
                await calls.close()
                await later.close()
                await server.close()

    run_virtual(main)


def test_every_call_has_a_path_below_its_service() -> None:
    paths = [method.path for method in methods().values()]
    assert "/runtime.v1.RuntimeService/RunPodSandbox" in paths
    assert "/runtime.v1.ImageService/PullImage" in paths
    assert len(paths) == 41
