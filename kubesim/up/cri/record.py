"""Runs the recording proxy in real time until it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.wall import wall_now
from kubesim.concurrency import TaskSet
from kubesim.runtime.cri.record.proxy import RecordingProxy
from kubesim.runtime.cri.record.recording import RecordingWriter
from kubesim.runtime.cri.wire.endpoint import SCHEME
from kubesim.up.cluster import end_on_internal_errors
from kubesim.up.cri.serve import check_socket, start_private, unix_socket, wait


def record(listen: str, endpoint: str, file: TextIO, ready: Callable[[], None], duration: int | None) -> None:
    """Raises UsageError; KeyboardInterrupt when a signal ends it."""
    check_socket(listen, "--listen")

    async def main() -> None:
        clock = LoopClock(wall_now())
        clock.begin(1.0)
        async with TaskSet() as tasks:
            end_on_internal_errors(tasks)
            writer = RecordingWriter(file, clock.elapsed)
            writer.header(SCHEME + listen, SCHEME + endpoint)
            with clock.listening(), unix_socket(listen):
                proxy = RecordingProxy(listen, endpoint, writer)
                await start_private(proxy)
                try:
                    ready()
                    await tasks.run_until(wait(clock, duration))
                finally:
                    await proxy.close()

    run_virtual(main)
