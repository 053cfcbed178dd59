"""`kubesim run --metrics` and `--otlp`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from tests.support.prometheus import read_metrics

HELLO = str(Path(__file__).parents[2] / "scenarios" / "hello-pod.yaml")
TWO_NODES = str(Path(__file__).parents[2] / "scenarios" / "two-nodes.yaml")


class Collector(HTTPServer):
    """A collector for traces over OTLP/HTTP with scripted responses."""

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.answer = status, answer
        self.received: list[tuple[str, str | None, Any]] = []
        self.address = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, self.headers["Content-Type"], json.loads(body)))
        content = json.dumps(self.server.answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Disable logging."""


@contextmanager
def collecting(status: int = 200, **answer: Any) -> Iterator[Collector]:
    with Collector(status, answer) as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


def test_metrics_of_a_run_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "metrics.txt"
    assert main(["run", "-q", "--metrics", str(file), HELLO]) == 0
    metrics = read_metrics(file.read_text())
    assert metrics["kubelet_started_pods_total"].value() == 1
    assert metrics["kubelet_image_pull_duration_seconds"].value("_count", image_size_in_bytes="0-10MB") == 1


def test_metrics_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", "--metrics", "-", TWO_NODES]) == 0
    output = capsys.readouterr().out
    metrics = read_metrics(output[output.index("# HELP") :])
    assert metrics["kubelet_node_name"].value(instance="node-2", node="node-2") == 1


def test_spans_in_a_file_and_at_a_collector_are_equal(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    assert main(["run", "-q", "--otlp", str(file), HELLO]) == 0
    with collecting() as collector:
        assert main(["run", "-q", "--otlp", collector.address, HELLO]) == 0
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert written
    assert collector.received == [("/v1/traces", "application/json", request) for request in written]


def test_the_kubelet_configuration_sets_the_sampling_rate(tmp_path: Path) -> None:
    configuration, file = tmp_path / "kubelet.yaml", tmp_path / "spans.jsonl"
    configuration.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "tracing: {endpoint: 'collector:4317', samplingRatePerMillion: 0}\n"
    )
    assert main(["run", "-q", "--otlp", str(file), "--config", str(configuration), HELLO]) == 0
    assert file.read_text() == ""


@pytest.mark.parametrize(
    ("status", "answer", "problem"),
    [
        (503, {}, "the collector answered 503 Service Unavailable"),
        (200, {"partialSuccess": {"rejectedSpans": "2", "errorMessage": "old"}}, "the collector rejected 2 spans: old"),
    ],
)
def test_a_collector_that_rejects_spans(
    status: int, answer: dict[str, Any], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with collecting(status, **answer) as collector:
        assert main(["run", "-q", "--otlp", collector.address, HELLO]) == 2
    captured = capsys.readouterr()
    assert captured.err.endswith(f"kubesim: error: cannot send spans to {collector.address}: {problem}\n")
    assert "6 of 6 expectations met" in captured.out


def test_an_unreachable_collector(capsys: pytest.CaptureFixture[str]) -> None:
    with collecting() as gone:
        address = gone.address
    assert main(["run", "-q", "--otlp", address, HELLO]) == 2
    assert "is a collector listening there?" in capsys.readouterr().err
    assert main(["run", "-q", "--otlp", "http://no..host", HELLO]) == 2
    assert "cannot send spans to http://no..host" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--metrics", "m.txt", HELLO], "--metrics writes one run: give one scenario"),
        (["--metrics", "-", "-o", "json"], "--metrics - and --output both write to stdout: give --metrics a FILE"),
        (["--metrics", "no/such/folder/m.txt"], "--metrics no/such/folder/m.txt: No such file or directory"),
        (["--otlp", "no/such/folder/s.jsonl"], "--otlp no/such/folder/s.jsonl: No such file or directory"),
        (["--otlp", "ftp://x"], "--otlp ftp://x: give a FILE, or the address of a collector such as http://localhost:4318"),
        (["--otlp", "s.jsonl", "--step"], "--step cannot be combined with --metrics and --otlp"),
    ],
)  # fmt: skip
def test_errors_are_reported_before_anything_runs(
    flags: list[str], problem: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *flags, HELLO]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"kubesim: error: {problem}\n"
    assert captured.out == ""
