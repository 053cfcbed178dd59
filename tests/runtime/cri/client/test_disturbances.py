"""A runtime that goes away, is slow, returns errors or restarts: the kubelet does what it does with any runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import NEVER, LoopClock, run_virtual
from kubesim.runtime.cri.client.connection import HeldCalls
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls, GrpcServer
from kubesim.runtime.cri.wire.methods import Calls, CriError
from kubesim.scenario.ending.result import RunResult
from tests.support.cri_plugin import ServedPlugin, play

REFUSED = 'connection error: desc = "transport: Error while dialing: dial unix /s: connect: connection refused"'
STORY = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: disturbed}}
spec:
  images: [{{name: "busybox:*", present: true}}]
  duration: {duration}
  expect:
{expect}
---
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  containers: [{{name: main, image: "busybox:1.36", command: [sleep, "100000"]}}]
"""

Disturb = Callable[[str, int], "CriError | int | None"]  # name and time of a call -> its error, or how late it is


class Disturbed:
    """Implements `Calls` in front of other ones. Its time begins when the pod is created."""

    def __init__(self, calls: Calls, clock: LoopClock, disturb: Disturb) -> None:
        self.calls = calls
        self.clock = clock
        self.disturb = disturb
        self.began = NEVER

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        if name == "RunPodSandbox" and self.began == NEVER:
            self.began = self.clock.now()
        problem = self.disturb(name, self.clock.now() - self.began)
        if isinstance(problem, CriError):
            raise problem
        await self.clock.sleep(problem or 0)
        return await self.calls.call(name, request, timeout)

    def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        return self.calls.stream(name, request)


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunResult]:
    """Runs a pod and returns the result; expectations are lines of YAML."""

    def run(disturb: Disturb, duration: str, *expect: str) -> RunResult:
        monkeypatch.setattr(ServedPlugin, "disturbed", lambda plugin, calls, clock: Disturbed(calls, clock, disturb))
        lines = "\n".join(f"    - {line}" for line in expect)
        (tmp_path / "story.yaml").write_text(STORY.format(duration=duration, expect=lines))
        result, _ = play(tmp_path / "story.yaml", tmp_path / "state", monkeypatch)
        return result

    return run


def failures(result: RunResult) -> list[str]:
    return [line for failure in result.failures for line in failure.lines()]


def test_a_runtime_that_is_away_makes_the_node_not_ready_and_containers_go_on(story: Callable[..., RunResult]) -> None:
    def away(name: str, now: int) -> CriError | None:
        return CriError("Unavailable", REFUSED) if 20 * SECOND <= now < 5 * MINUTE else None

    result = story(
        away,
        "7m",
        "{pod: web, condition: Ready, by: 10s}",
        "{node: node-1, condition: Ready=False, by: 45s, never: true}",  # the last check was 30 s ago, not earlier
        "{node: node-1, condition: Ready=False, by: 65s}",
        "{node: node-1, condition: Ready, at: 6m}",
        "{pod: web, restartCount: 1, never: true}",
        "{pod: web, call: StartContainer, count: 1}",
    )
    assert failures(result) == []


def test_listings_that_do_not_return_make_the_pleg_unhealthy(story: Callable[..., RunResult]) -> None:
    def slow(name: str, now: int) -> int | None:
        return 10 * MINUTE if name.startswith("List") and 20 * SECOND <= now < 4 * MINUTE else None

    result = story(
        slow,
        "10m",
        "{node: node-1, condition: Ready=False, by: 3m15s, never: true}",  # the threshold is three minutes
        "{node: node-1, condition: Ready=False, by: 4m}",
        "{node: node-1, condition: Ready, at: 9m}",
        "{pod: web, restartCount: 1, never: true}",
    )
    assert failures(result) == []


def test_an_error_of_the_runtime_is_in_the_event_and_the_kubelet_tries_again(story: Callable[..., RunResult]) -> None:
    left = [2]

    def fails(name: str, now: int) -> CriError | None:
        if name == "RunPodSandbox" and left[0]:
            left[0] -= 1
            return CriError("Unknown", "no space left on device")
        return None

    message = '"Failed to create pod sandbox: rpc error: code = Unknown desc = no space left on device"'
    result = story(
        fails,
        "2m",
        f"{{pod: web, event: FailedCreatePodSandBox, message: {message}, by: 10s}}",
        "{pod: web, call: RunPodSandbox, count: 3}",
        "{pod: web, condition: Ready, by: 60s}",
    )
    assert failures(result) == []


async def answered(calls: Calls) -> Any:
    """The first answer: gRPC waits before it connects again."""
    while True:
        try:
            return await calls.call("Version", pb.VersionRequest(), 10 * SECOND)
        except CriError as error:
            if error.code != "Unavailable":
                raise


def test_a_connection_is_made_again_after_the_runtime_has_restarted(tmp_path: Path) -> None:
    class Versions:
        async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
            return pb.VersionResponse(runtime_name="mine", runtime_api_version="v1")

        def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
            raise CriError("Unimplemented", name)

    async def main() -> None:
        path, clock = str(tmp_path / "s"), LoopClock()
        connection = GrpcCalls(path)
        calls = HeldCalls(connection, clock)
        for _ in range(2):
            server = GrpcServer(Versions(), path)
            await server.start()
            with clock.external():
                answer = await answered(connection)
                await server.close()
            assert answer.runtime_name == "mine"
            with pytest.raises(CriError, match=r"rpc error: code = Unavailable desc = (connection|error reading)"):
                await calls.call("Version", pb.VersionRequest(), 10 * SECOND)
        await connection.close()

    run_virtual(main)
