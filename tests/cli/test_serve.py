"""`kubesim run --serve`: HTTP endpoints of the agent during a paced run."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from kubesim.app import run_scenario
from kubesim.cli.main import main
from kubesim.errors import UsageError
from kubesim.kubelet.server import Answer, Serving, parse_address
from kubesim.scenario.load.loader import load_scenario
from tests.support.http_get import get
from tests.support.processes import start
from tests.support.prometheus import read_metrics

HELLO = str(Path(__file__).parents[2] / "scenarios" / "hello-pod.yaml")


def serving(run: subprocess.Popen[str]) -> str:
    """The address that a run prints when it serves."""
    assert run.stderr is not None
    said = re.search(r"serving on (http://127\.0\.0\.1:\d+)", run.stderr.readline())
    assert said
    return said[1]


def test_a_paced_run_answers_requests() -> None:
    with start("run", "-q", "--speed", "0.1", "--serve", "0", HELLO) as run:  # five minutes: it cannot end before
        address = serving(run)
        assert get(address, "/healthz") == (200, "ok")
        status, pods = get(address, "/pods")
        assert (status, json.loads(pods)["kind"]) == (200, "PodList")
        status, metrics = get(address, "/metrics")
        assert status == 200
        assert "# TYPE kubelet_" in metrics
        while "kubelet_pod_worker_start_duration_seconds_count 1" not in metrics:  # the pod appears shortly
            metrics = get(address, "/metrics")[1]
        assert read_metrics(metrics)["kubelet_pleg_relist_interval_seconds"].kind == "histogram"
        assert json.loads(get(address, "/statusz")[1])["node"] == "node-1"
        assert get(address, "/nodes/node-1/healthz") == (200, "ok")
        assert get(address, "/nodes/other/healthz")[0] == 404
        assert get(address, "/exec")[0] == 404
        assert get(address, "/pods", "POST")[0] == 405
        run.send_signal(signal.SIGINT)
        run.communicate()
    assert run.returncode == 130


def test_a_paced_run_that_serves_ends_normally() -> None:
    with start("run", "-q", "--speed", "100", "--serve", "0", HELLO) as run:
        assert serving(run)
        output = run.communicate()[0]
    assert run.returncode == 0
    assert "6 of 6 expectations met" in output


class _InterruptedAtTheEnd:
    path = "/report"

    def page(self, target: str) -> Answer:
        return 200, "text/plain", target

    async def ended(self) -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()


def test_an_interrupt_during_the_last_poll_of_a_page_loses_no_data() -> None:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # SIGINT is ignored in a program started by nohup
    serve = Serving("127.0.0.1", 0, lambda address: None, _InterruptedAtTheEnd())
    try:
        result = run_scenario(load_scenario(HELLO), speed=1000, serve=serve)
    finally:
        signal.signal(signal.SIGINT, former)
    assert (result.interrupted, result.ok) == (False, True)


def test_serving_needs_a_paced_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--serve", "0", HELLO]) == 2
    assert "kubesim: error: --serve needs --speed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "address"),
    [("10255", ("127.0.0.1", 10255)), ("0.0.0.0:80", ("0.0.0.0", 80)), ("[::1]:8080", ("::1", 8080))],
)
def test_the_default_address_is_loopback(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "http", "localhost", "1.2.3.4:99999"])
def test_other_addresses_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="is not an address to serve on"):
        parse_address(text)
