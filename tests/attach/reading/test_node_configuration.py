"""The periods of a node's kubelet: from a file or its /configz, and their effect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.periods import DEFAULT_PERIODS, KubeletPeriods, with_jitter
from kubesim.attach.reading.node_configuration import periods_from_file, periods_from_node
from kubesim.attach.shadow.shadow import Shadow
from kubesim.attach.watch.table import header
from kubesim.cluster.remote.transport import Call, check_reads_only
from kubesim.errors import ReadOnlyError, UsageError
from kubesim.podworkers.requeue import Intervals
from tests.support.attach.pods import NOW, cause, end, pod, running, terminated, waiting
from tests.support.attach.watching import scenario, watched

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SHORT = KubeletPeriods(Intervals(resync=20 * SECOND), max_container_restart_period=30 * SECOND)


class Answers:
    """A transport that gives the same response to every call."""

    def __init__(self, status: int, body: Any) -> None:
        self.status, self.calls = status, list[Call]()
        self.retry_after_s = None
        self._body = body if isinstance(body, bytes) else json.dumps(body).encode()

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncGenerator[Answers]:
        self.calls.append(call)
        yield self

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        """Nothing is open."""


def asked(status: int, body: Any, node: str = "n1") -> KubeletPeriods:
    answers = Answers(status, body)
    found = asyncio.run(periods_from_node(answers, node))  # type: ignore[arg-type]
    assert [(call.method, call.path) for call in answers.calls] == [("GET", f"/api/v1/nodes/{node}/proxy/configz")]
    return found


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD + "syncFrequency: 20s\ncrashLoopBackOff: {maxContainerRestartPeriod: 30s}\n")
    assert periods_from_file(str(file)) == SHORT
    file.write_text(HEAD)
    assert periods_from_file(str(file)) == DEFAULT_PERIODS
    file.write_text(HEAD + "nodeLeaseDurationSeconds: 20\nfeatureGates: {ReduceDefaultCrashLoopBackOffDecay: true}\n")
    assert periods_from_file(str(file)).lease_renewal == 5 * SECOND
    assert periods_from_file(str(file)).crash_wait(1) == 1 * SECOND


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("crashLoopBackOff: {maxContainerRestartPeriod: 400s}\n", ":3: crashLoopBackOff"),
        ("syncFrequency: soon\n", ":3: syncFrequency"),
        ("syncFrequenzy: 20s\n", ":3: syncFrequenzy"),
    ],
)
def test_an_error_in_a_file_names_its_line(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD + text)
    with pytest.raises(UsageError) as error:
        periods_from_file(str(file))
    assert expected in str(error.value)


def test_the_kubelet_is_queried() -> None:
    """Fields and gates of other versions do not matter."""
    answer = {
        "syncFrequency": "20s",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "30s"},
        "aFieldOfAnotherVersion": {"x": 1},
        "featureGates": {"AGateOfAnotherVersion": True},
    }
    assert asked(200, {"kubeletconfig": answer}) == SHORT
    assert asked(200, {"kubeletconfig": {}}) == DEFAULT_PERIODS


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (403, {"message": "forbidden"}, "verb get on resource nodes/proxy"),
        (404, {}, "has no node n1"),
        (502, b"<html>", "answer 502"),
        (200, b"<html>", "not a kubelet's /configz"),
        (200, None, "not a kubelet's /configz"),
        (200, {"kubeletconfig": []}, "not a kubelet's /configz"),
        (200, {"kubeletconfig": {"syncFrequency": 7}}, "syncFrequency"),
    ],
)
def test_another_response_is_a_one_line_error(status: int, body: Any, expected: str) -> None:
    with pytest.raises(UsageError) as error:
        asked(status, body)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_the_proxy_allows_only_this_path() -> None:
    check_reads_only(Call("get", "/api/v1/nodes/n1.example.com/proxy/configz"))
    for path in (
        "/api/v1/nodes/n1/proxy/exec/shop/web/main",
        "/api/v1/nodes/n1/proxy/configz/x",
        "/api/v1/nodes/../proxy/configz",
        "/api/v1/namespaces/shop/pods/web/proxy/configz",
    ):
        with pytest.raises(ReadOnlyError):
            check_reads_only(Call("get", path))
    with pytest.raises(UsageError, match="refused"):
        asked(200, {}, "n1/proxy/exec")


# -- what they change -----------------------------------------------------------------------------------------------


def test_the_longest_back_off_limits_predictions() -> None:
    crashed = pod(terminated(1, restarts=9), status={"phase": "Running"})
    found = cause(crashed, periods=SHORT)
    assert "30s" in found.says
    assert "up to 30s" in found.rule
    assert "every 20 to 30 s" in found.rule
    assert "5m0s" in cause(crashed).says


def test_a_shorter_resync_shortens_the_window() -> None:
    message = "back-off 30s restarting failed container=main pod=web_shop(u1)"
    crashed = pod(waiting("CrashLoopBackOff", message, end(1, finished=0), restarts=9))
    (usual, *_), (short, *_) = cause(crashed).steps, cause(crashed, periods=SHORT).steps
    assert usual.window is not None
    assert short.window is not None
    assert usual.window.earliest == short.window.earliest == NOW + 30 * SECOND
    # 30 s and half of it as jitter; or syncs in between, each with the jitter of a shorter wait
    assert usual.window.latest == NOW + 46_500_000
    assert short.window.latest is not None
    assert NOW + 30 * SECOND < short.window.latest < NOW + 46_500_000


def test_the_shadow_follows_the_configured_back_off() -> None:
    waits = []
    for periods in (DEFAULT_PERIODS, SHORT):
        shadow = Shadow(periods)
        for restarts in range(6):
            ended = pod(terminated(1, restarts=restarts, finished=0), status={"phase": "Running"})
            again = pod(running(since=0, restarts=restarts + 1) | {"lastState": {"terminated": end(1, finished=0)}})
            for one in (ended, again):
                shadow.observe_pod(one, NOW)
        waits.append(shadow._observation(shadow.pods["u1"], NOW).memory.crashes["main"].wait // SECOND)
    assert waits == [300, 30]


def test_the_header_names_values_other_than_the_defaults() -> None:
    assert "configured:" not in header(watched(scenario("hello-pod")).agent)[0]
    reported = header(watched(scenario("hello-pod"), periods=SHORT).agent)[0]
    assert "configured: syncFrequency 20s, longest crash back-off 30s" in reported


def test_formatted_periods() -> None:
    assert with_jitter(60 * SECOND) == "60 to 90 s"
    assert with_jitter(100 * SECOND) == "1m40s to 2m30s"
