"""Flags of `kubesim run` that write metrics and traces: `--metrics` and `--otlp`.

Files are opened before the run, so that a wrong name is a usage error immediately. Nothing is sent during a run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TextIO

from kubesim.cli.flags import options
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.scenario.ending.result import RunResult
    from kubesim.scenario.language.document import Scenario
    from kubesim.trace import Sink
    from kubesim.trace.spans.export import SpanWriter
    from kubesim.trace.spans.sink import SpanSink


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metrics", metavar="FILE", help="write the kubelet's metrics at the end of the run to FILE; - is stdout"
    )
    parser.add_argument(
        "--otlp",
        metavar="FILE|URL",
        help="write the kubelet's spans to FILE as OTLP JSON, one request per line; or send them to this collector",
    )


def check_runs(args: argparse.Namespace, runs: int) -> None:
    if args.metrics is not None and runs > 1:
        raise UsageError("--metrics writes one run: give one scenario")


def check_together(args: argparse.Namespace) -> None:
    """Reject flags that exclude each other."""
    if args.metrics == "-" and args.output:
        raise UsageError("--metrics - and --output both write to stdout: give --metrics a FILE")
    step = options.stepping_flag(args)
    if step and (args.metrics is not None or args.otlp is not None):
        raise UsageError(f"{step} cannot be combined with --metrics and --otlp")


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[Telemetry]:
    """Open the requested files. Spans are sent at the end."""
    with ExitStack() as files:
        metrics = _open("--metrics", args.metrics, files) if args.metrics is not None else None
        spans = _span_writer(args.otlp, files) if args.otlp is not None else None
        yield Telemetry(metrics, spans)
        if spans is not None:
            spans.close()


class Telemetry:
    """The destinations of metrics and spans."""

    def __init__(self, metrics: TextIO | None, spans: SpanWriter | None) -> None:
        self._metrics = metrics
        self._spans = spans
        self._sink: SpanSink | None = None  # of the current run

    def sinks(self, scenario: Scenario, seed: int | None) -> tuple[Sink, ...]:
        """The sink for spans, if requested."""
        if self._spans is None:
            return ()
        from kubesim.clock.clock import VIRTUAL_START
        from kubesim.trace.klog.redact import Redaction, confidential
        from kubesim.trace.spans.sink import SpanSink

        values = scenario.spec.kubelet_configuration.values
        rate = values["tracing.samplingRatePerMillion"]
        identity = f"{scenario.name} {scenario.spec.seed if seed is None else seed}"
        redaction = Redaction(confidential(scenario.spec.model_dump(exclude={"kubelet_configuration"})))
        self._sink = SpanSink(
            self._spans.write, identity, VIRTUAL_START, sampling_rate_per_million=rate, redaction=redaction
        )
        return (self._sink,)

    def finish(self, result: RunResult) -> None:
        """Write the metrics and remaining spans of a finished run."""
        if self._sink is not None:
            self._sink.flush()
        if self._metrics is not None:
            try:
                self._metrics.write(result.metrics)
                self._metrics.flush()
            except OSError as error:
                raise UsageError(f"--metrics: {error.strerror}") from error


def _span_writer(target: str, files: ExitStack) -> SpanWriter:
    from kubesim.trace.spans.export import Collector, FileWriter, is_url

    return Collector(target) if is_url(target) else FileWriter(_open("--otlp", target, files), target)


def _open(flag: str, name: str, files: ExitStack) -> TextIO:
    if name == "-":
        return sys.stdout
    try:
        return files.enter_context(open(name, "w", encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{flag} {name}: {error.strerror}") from error
