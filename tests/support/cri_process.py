"""`kubesim cri serve` and `kubesim cri record` as processes of their own."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from kubesim.clock import LoopClock
from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls
from tests.support.cri_node import CriClient
from tests.support.processes import start
from tests.support.up import wait_until


@contextmanager
def running(socket: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`kubesim cri …` with this `--listen`, once its socket is there."""
    process = start("cri", *words, "--listen", f"unix://{socket}")

    def is_up() -> bool:
        assert process.poll() is None, process.communicate()
        return socket.exists()

    try:
        wait_until(is_up, "the socket")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@asynccontextmanager
async def connected(socket: Path) -> AsyncIterator[CriClient]:
    calls = GrpcCalls(str(socket))
    try:
        yield CriClient(calls, LoopClock())
    finally:
        await calls.close()


FAST = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: fast}
spec: {images: [{name: "*", pullTime: 1ms}]}
"""


@contextmanager
def serving(socket: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`kubesim cri serve` with images that are pulled at once."""
    scenario = socket.with_suffix(".yaml")
    scenario.write_text(FAST)
    with running(socket, "serve", "--scenario", str(scenario), *words) as process:
        yield process
