"""A runtime that stops and starts again, observed through an agent's connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.errors import RuntimeCallError
from kubesim.runtime.simulated.service import RuntimeConnection, RuntimeService


class SlowRuntime:
    """Every pull takes ten seconds."""

    name = "slow"

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self.listeners: list[Any] = []

    def on_change(self, listener: Any) -> None:
        self.listeners.append(listener)

    async def pull_image(self, image: str, pod: Any, auth: Any = None, sandbox: Any = None) -> str:
        await self._clock.sleep(10 * SECOND)
        return f"id of {image}"

    async def _never(self, *_: Any) -> Any:
        await self._clock.sleep(3600 * SECOND)

    run_pod_sandbox = stop_pod_sandbox = create_container = start_container = stop_container = exec_sync = _never

    async def list_containers(self, pod_uid: str | None = None) -> list[Any]:
        return []


def stage() -> tuple[LoopClock, SlowRuntime, RuntimeService, RuntimeConnection]:
    clock = LoopClock()
    runtime = SlowRuntime(clock)
    service = RuntimeService(runtime, clock)  # type: ignore[arg-type]
    return clock, runtime, service, service.connect()


def test_a_call_in_progress_is_interrupted_and_its_task_continues() -> None:
    async def main() -> str:
        clock, _, service, connection = stage()
        clock.call_at(clock.now() + 3 * SECOND, service.stop)
        clock.call_at(clock.now() + 5 * SECOND, service.start)
        with pytest.raises(RuntimeCallError, match="Unavailable"):
            await connection.pull_image("a", None)  # type: ignore[arg-type]
        assert clock.elapsed() == 3 * SECOND
        with pytest.raises(RuntimeCallError, match="connection refused"):
            await connection.list_containers()
        await clock.sleep(2 * SECOND)
        return await connection.pull_image("a", None)  # type: ignore[arg-type]

    assert run_virtual(main) == "id of a"


def test_the_end_of_an_agent_is_not_an_error_of_its_calls() -> None:
    async def main() -> None:
        clock, _, _, connection = stage()
        task = asyncio.get_running_loop().create_task(connection.pull_image("a", None))  # type: ignore[arg-type]
        await clock.sleep(SECOND)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main)


def test_stop_and_start_are_changes_of_the_runtime_itself_and_a_closed_connection_gets_nothing() -> None:
    async def main() -> None:
        _, runtime, service, connection = stage()
        received: list[str] = []
        connection.on_change(received.append)
        (tell,) = runtime.listeners
        tell("pod-1")
        service.stop()
        tell("pod-2")
        service.start()
        assert received == ["pod-1", "", ""]
        connection.close()
        tell("pod-3")
        assert received == ["pod-1", "", ""]
        with pytest.raises(RuntimeCallError, match="closing"):
            await connection.list_containers()

    run_virtual(main)


def test_a_hanging_runtime_blocks_listings_until_it_recovers() -> None:
    async def main() -> None:
        clock, _, service, connection = stage()
        service.hang()
        clock.call_at(clock.now() + 30 * SECOND, service.recover)
        assert await connection.list_containers() == []
        assert clock.elapsed() == 30 * SECOND

    run_virtual(main)


def test_the_kubelet_gives_up_a_listing_after_two_minutes() -> None:
    async def main() -> None:
        clock, _, service, connection = stage()
        service.hang()
        with pytest.raises(RuntimeCallError, match="DeadlineExceeded"):
            await connection.list_containers()
        assert clock.elapsed() == 120 * SECOND

    run_virtual(main)


CALLS: dict[str, tuple[Callable[[RuntimeConnection], Awaitable[Any]], int | None]] = {
    "RunPodSandbox": (lambda c: c.run_pod_sandbox(None), 60),  # type: ignore[arg-type]
    "StopPodSandbox": (lambda c: c.stop_pod_sandbox("s"), 30),
    "CreateContainer": (lambda c: c.create_container("s", None, None), 30),  # type: ignore[arg-type]
    "StartContainer": (lambda c: c.start_container("c"), 30),
    "StopContainer with a grace of 50 s": (lambda c: c.stop_container("c", 50 * SECOND), 80),
    "ExecSync with a timeout of 5 s": (lambda c: c.exec_sync("c", ("x",), 5 * SECOND), 35),
    "ExecSync without a timeout": (lambda c: c.exec_sync("c", ("x",), 0), None),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_without_a_timely_response_fails(name: str) -> None:
    call, seconds = CALLS[name]

    async def main() -> None:
        clock, _, service, _ = stage()
        connection = service.connect(30 * SECOND)
        if seconds is None:
            await call(connection)
            assert clock.elapsed() == 3600 * SECOND
            return
        with pytest.raises(RuntimeCallError, match="code = DeadlineExceeded desc = context deadline exceeded"):
            await call(connection)
        assert clock.elapsed() == seconds * SECOND

    run_virtual(main)


def test_a_pull_has_no_time_limit() -> None:
    async def main() -> str:
        _, _, service, _ = stage()
        return await service.connect(1 * SECOND).pull_image("a", None)  # type: ignore[arg-type]

    assert run_virtual(main) == "id of a"
