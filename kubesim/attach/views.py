"""How an attached agent shows what it finds: a table, lines of JSON, figures for a monitoring system.

Never a value of a Secret, an environment variable or an annotation: only statuses, Events, names and times.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from typing import Any, TextIO

from kubesim.api.gotext import duration
from kubesim.api.timestamps import MILLISECOND, SECOND, format_time
from kubesim.attach.agent import Agent
from kubesim.attach.divergence import Divergence
from kubesim.attach.page import as_json, window_text
from kubesim.attach.shadow import Report
from kubesim.attach.statement import Statement
from kubesim.attach.twin import Twin
from kubesim.attach.versions import differences

# What holds a pod up comes first.
_ORDER = (
    "terminating",
    "failed",
    "unknown",
    "starting",
    "initializing",
    "running",
    "new",
    "finishing",
    "ready",
    "succeeded",
)
SHOWN_DIVERGENCES = 8
TEXT, JSON = "text/plain; charset=utf-8", "application/json"


class LinesView:
    """`-o jsonl`: every statement, verdict and divergence as it comes."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err

    def reported(self, report: Report) -> None:
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
        print(f"kubesim: {text}", file=self._err, flush=True)

    def _write(self, value: dict[str, Any]) -> None:
        print(json.dumps(value, ensure_ascii=False), file=self._out, flush=True)


class QuietView:
    """For a table that is drawn elsewhere: only trouble is told as it comes."""

    def __init__(self, err: TextIO) -> None:
        self._err = err

    def reported(self, report: Report) -> None:
        """The table shows it."""

    def diverged(self, divergence: Divergence) -> None:
        """The table shows it."""

    def problem(self, text: str) -> None:
        print(f"kubesim: {text}", file=self._err, flush=True)


def header(agent: Agent, *, brief: bool = False) -> list[str]:
    """What is known about the node and about how well it is seen; brief: without the list of what differs there."""
    node, lines = agent.shadow.node, []
    version = str(node.status.node_info.get("kubeletVersion", "")) if node is not None else ""
    age, skew = agent.lease_age, agent.measured_skew
    facts = [f"node {agent.node_name}" + (" (gone)" if agent.shadow.node_gone else f" kubelet {version or 'unknown'}")]
    facts.append("lease never seen" if age is None else f"lease renewed {duration(age // SECOND * SECOND)} ago")
    facts.append(
        "clock skew not measured yet" if skew is None else f"clock skew {duration(skew // MILLISECOND * MILLISECOND)}"
    )
    facts.append("connected" if agent.connected else "NOT CONNECTED: what is shown may be old")
    facts.append(f"{agent.divergence_count} divergences")
    lines.append(" · ".join(facts))
    notes = differences(version) if version else ()
    if brief and len(notes) > 1:
        notes = (f"kubelet {version} differs in {len(notes)} known ways from these rules; --once lists them",)
    return lines + [f"note: {text}" for text in notes]


def table(agent: Agent, width: int | None = None, twin: Twin | None = None, *, brief: bool = False) -> str:
    """The pods, those that something holds up first; then the newest divergences. With a twin, how that one stands."""
    width = width or shutil.get_terminal_size((120, 40)).columns
    now = agent.now()
    statements = sorted((agent.shadow.statement(uid, now) for uid in agent.shadow.pods), key=_rank)
    lines = header(agent, brief=brief)
    rows = [("POD", "STAGE", "WHAT HOLDS IT", *(("TWIN",) if twin is not None else ()), "NEXT")]
    for statement in statements:
        *columns, following = _row(statement, now)
        beside = () if twin is None else (twin.in_words(agent.shadow.pods[statement.uid].pod),)
        rows.append((*columns, *beside, following))
    sizes = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        line = "  ".join(f"{text:<{size}}" for text, size in zip(row, sizes, strict=False)) + "  " + row[-1]
        lines.append(line[:width].rstrip())
    for divergence in list(agent.divergences)[-SHOWN_DIVERGENCES:]:
        lines.append(f"! {format_time(divergence.at)} {divergence.namespace}/{divergence.name}: {divergence.says}")
    return "\n".join(lines) + "\n"


def _rank(statement: Statement) -> tuple[int, str, str]:
    place = _ORDER.index(statement.stage) if statement.stage in _ORDER else len(_ORDER)
    return place, statement.namespace, statement.name


def _row(statement: Statement, now: int) -> tuple[str, str, str, str]:
    cause = statement.causes[0]
    timed = next((step for step in statement.steps if step.window is not None and step.firm), None)
    first = timed or next(iter(cause.steps), None)
    when = window_text(first.window, now) if first is not None else ""
    following = "" if first is None else f"{first.what}{': ' + when if when else ''}"
    return f"{statement.namespace}/{statement.name}", statement.stage, cause.code, following


def summary(agent: Agent) -> dict[str, Any]:
    """`-o json` of a single look."""
    now = agent.now()
    statements = [agent.shadow.statement(uid, now) for uid in agent.shadow.pods]
    return {
        "node": agent.node_name,
        "header": header(agent),
        "pods": [as_json(statement) for statement in sorted(statements, key=_rank)],
        "divergences": [divergence.to_json() for divergence in agent.divergences],
    }


def respond(agent: Agent, method: str, target: str) -> tuple[int, str, str]:
    """/healthz and /metrics."""
    path = target.partition("?")[0]
    if path not in ("/healthz", "/metrics"):
        return 404, TEXT, "404 page not found; there are /healthz and /metrics\n"
    if method != "GET":
        return 405, TEXT, "405 method not allowed: this is read-only\n"
    if path == "/healthz":
        return (200, TEXT, "ok\n") if agent.connected else (503, TEXT, "not connected to the API server\n")
    return 200, TEXT, metrics(agent)


def metrics(agent: Agent) -> str:
    """In the text format of Prometheus."""
    now = agent.now()
    stages: dict[str, int] = {}
    for uid in agent.shadow.pods:
        stage = agent.shadow.statement(uid, now).stage
        stages[stage] = stages.get(stage, 0) + 1
    lines = list(
        _metric(
            "kubesim_attach_pods",
            "gauge",
            "Pods by stage of life.",
            ((f'stage="{stage}"', count) for stage, count in sorted(stages.items())),
        )
    )
    lines += _metric(
        "kubesim_attach_predictions_total",
        "counter",
        "Predictions by what they are about and how they came out.",
        (
            (f'due="{due}",outcome="{outcome}"', count)
            for (due, outcome), count in sorted(agent.shadow.outcomes.items())
        ),
    )
    lines += _metric(
        "kubesim_attach_divergences_total",
        "counter",
        "Departures from the kubelet's rules.",
        (("", agent.divergence_count),),
    )
    lines += _metric(
        "kubesim_attach_observations_total", "counter", "Pods and Events observed.", (("", agent.observations),)
    )
    lines += _metric("kubesim_attach_connected", "gauge", "1 while the watches stand.", (("", int(agent.connected)),))
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
