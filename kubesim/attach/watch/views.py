"""The output of an attached agent: JSON lines, and metrics for a monitoring system; `table.py` has the table.

It has only statuses, Events, names and times, never values of Secrets, environment variables or annotations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TextIO

from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.page import as_json, window_text
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.shadow.shadow import ShadowReport
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.attach.watch.table import by_need, header
from kubesim.golang.json import printable_json
from kubesim.golang.text import printable

TEXT, JSON = "text/plain; charset=utf-8", "application/json"


class LinesView:
    """`-o jsonl`: prints every statement, verdict and divergence when it is found."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err

    def reported(self, report: ShadowReport) -> None:
        if report.statement is not None:
            self._write({"type": "statement", **as_json(report.statement)})
        for verdict in report.verdicts:
            prediction = verdict.prediction
            self._write(
                {
                    "type": "prediction",
                    "outcome": verdict.outcome,
                    "due": prediction.due,
                    "container": prediction.container,
                    "what": prediction.what,
                    "said": window_text(prediction.window, prediction.made_at),
                }
            )

    def diverged(self, divergence: Divergence) -> None:
        self._write({"type": "divergence", **divergence.to_json()})

    def problem(self, text: str) -> None:
        print(f"kubesim: {printable(text)}", file=self._err, flush=True)

    def _write(self, value: dict[str, Any]) -> None:
        print(printable_json(value), file=self._out, flush=True)


class QuietView:
    """For a table that is drawn by other code: prints only problems."""

    def __init__(self, err: TextIO) -> None:
        self._err = err

    def reported(self, report: ShadowReport) -> None:
        """Do nothing: the table shows it."""

    def diverged(self, divergence: Divergence) -> None:
        """Do nothing: the table shows it."""

    def problem(self, text: str) -> None:
        print(f"kubesim: {printable(text)}", file=self._err, flush=True)


class HeldView(QuietView):
    """For `--once`: prints problems if the command succeeds; if it fails, the error names the reason."""

    def __init__(self, err: TextIO) -> None:
        super().__init__(err)
        self._held: list[str] = []

    def problem(self, text: str) -> None:
        self._held.append(text)

    def release(self) -> None:
        for text in self._held:
            super().problem(text)
        self._held.clear()


def summary(agent: NodeFollower) -> dict[str, Any]:
    """`-o json`: the result of a single reading."""
    now = agent.now()
    pods = by_need(agent.shadow.pods.values())
    return {
        "node": agent.node_name,
        "header": header(agent),
        "pods": [as_json(agent.shadow.statement(tracked.pod.metadata.uid, now)) for tracked in pods],
        "divergences": [divergence.to_json() for divergence in agent.divergences],
    }


def respond(agent: NodeFollower, method: str, target: str) -> tuple[int, str, str]:
    """Answer /healthz and /metrics."""
    path = target.partition("?")[0]
    if path not in ("/healthz", "/metrics"):
        return 404, TEXT, "404 page not found; there are /healthz and /metrics\n"
    if method != "GET":
        return 405, TEXT, "405 method not allowed: this is read-only\n"
    if path == "/healthz":
        return (200, TEXT, "ok\n") if agent.connected else (503, TEXT, "not connected to the API server\n")
    return 200, TEXT, metrics(agent)


def metrics(agent: NodeFollower) -> str:
    """The metrics in the text format of Prometheus."""
    stages = Counter(tracked.stage for tracked in agent.shadow.pods.values())
    lines = list(
        _metric(
            "kubesim_attach_pods",
            "gauge",
            "Pods by lifecycle stage.",
            ((f'stage="{stage}"', count) for stage, count in sorted(stages.items())),
        )
    )
    lines += _metric(
        "kubesim_attach_predictions_total",
        "counter",
        "Predictions by subject and outcome.",
        (
            (f'due="{due}",outcome="{outcome}"', count)
            for (due, outcome), count in sorted(agent.shadow.outcomes.items())
        ),
    )
    lines += _metric(
        "kubesim_attach_divergences_total",
        "counter",
        "Divergences from the kubelet's rules.",
        (("", agent.divergence_count),),
    )
    lines += _metric(
        "kubesim_attach_observations_total", "counter", "Pods and Events observed.", (("", agent.observations),)
    )
    lines += _metric(
        "kubesim_attach_connected", "gauge", "1 while the watches are connected.", (("", int(agent.connected)),)
    )
    skew = agent.measured_skew
    if skew is not None:
        lines += _metric(
            "kubesim_attach_clock_skew_seconds", "gauge", "The node's clock minus ours.", (("", skew / SECOND),)
        )
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, help: str, values: Iterable[tuple[str, float]]) -> Iterable[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield f"{name}{'{' + labels + '}' if labels else ''} {value}"
