"""The output of `kubesim run`: the trace in one of three formats, and the result of each run."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from typing import Any, Protocol, TextIO

from kubesim.api.timestamps import MILLISECOND
from kubesim.golang.json import printable_json
from kubesim.golang.text import duration, printable
from kubesim.scenario.ending.result import RunResult
from kubesim.shipped import shipped
from kubesim.trace import Record
from kubesim.trace.sinks.console import ConsoleSink, Level
from kubesim.trace.sinks.jsonl import JsonLinesSink, record_line

MOST_PODS = 10  # items listed by name
_FAILED = {
    "expectation": "FAILED",
    "step": "step FAILED",
    "invariant": "invariant VIOLATED",
    "convergence": "NO CONVERGENCE",
    "deadlock": "DEADLOCK",
}
_TIME = re.compile(r"^deleted at [\d.]+ s,")
NARROWEST, WIDEST, NO_TERMINAL = 60, 160, 120  # columns


class Report(Protocol):
    """A sink that also gets the start and the result of a run."""

    def begin(self, file: str, *, nodes: bool = False) -> None: ...
    def record(self, record: Record) -> None: ...
    def end(self, result: RunResult) -> None: ...
    def close(self) -> None: ...


class TextReport:
    """A readable timeline and a summary. Coloured only on a terminal, unless NO_COLOR is set."""

    def __init__(self, out: TextIO, level: Level, *, several: bool, attached: bool = False) -> None:
        self._out = out
        self._level = level
        self.wants_details = level == "verbose"
        self._several = several
        self._attached = attached
        self._flush = out.isatty()

    def begin(self, file: str, *, nodes: bool = False) -> None:
        """Start a run. `nodes`: with several nodes, every line names its node."""
        if self._several:
            self._out.write(f"# {printable(file)}\n")
        self._console = console(self._out, self._level, attached=self._attached, nodes=nodes)

    def record(self, record: Record) -> None:
        self._console.record(record)
        if self._flush:
            self._out.flush()

    def end(self, result: RunResult) -> None:
        self._console.close()
        self._out.write("\n" + "".join(printable(line) + "\n" for line in summary(result)))

    def close(self) -> None:
        """On a terminal, refer to the glossary."""
        if self._out.isatty() and self._level != "quiet":
            self._out.write(f"terms: {shipped('glossary.md')}\n")
        self._out.flush()


def console(out: TextIO, level: Level, *, attached: bool = False, nodes: bool = False) -> ConsoleSink:
    """A console with the terminal's width and colour support."""
    width = min(max(shutil.get_terminal_size((NO_TERMINAL, 24)).columns, NARROWEST), WIDEST)
    colour = out.isatty() and not os.environ.get("NO_COLOR")
    return ConsoleSink(out, level, width=width, colour=colour, attached=attached, nodes=nodes)


def summary(result: RunResult) -> list[str]:
    """The result of a run in a few lines."""
    lines = [_named(name, counts) for name, counts in result.workloads.items()]
    pods = [_named(pod, outcome) for pod, outcome in result.outcomes.items()]
    if len(pods) > MOST_PODS:
        kinds = Counter(_TIME.sub("deleted,", outcome) for outcome in result.outcomes.values())
        pods = [f"{count} pod{'' if count == 1 else 's'}: {outcome}" for outcome, count in kinds.items()]
    lines += pods
    for failure in result.failures:
        first, *more = failure.lines()
        lines += [f"{_FAILED[failure.kind]}: {first}", *more]
    lines += [f"expectation not evaluated: {text}" for text in result.expectations_open]
    judged = len(result.expectations_met) + sum(failure.kind == "expectation" for failure in result.failures)
    reported = f"; {len(result.expectations_met)} of {judged} expectations met" if judged else ""
    reported += f"; trace {result.trace_hash[:16]}" if result.trace_hash else ""
    span = duration(result.duration // MILLISECOND * MILLISECOND)
    span = f"interrupted after {span}" if result.interrupted else span
    counted = f"{span} on the node, {result.records} records, {result.events} Events"
    lines.append(f"{result.scenario}, seed {result.seed}: {counted}{reported}")
    return lines


def _named(name: str, outcome: str) -> str:
    return f"{name.removeprefix('default/').replace('/default/', '/')}: {outcome}"


class JsonLinesReport:
    """Prints records only, and details if requested."""

    def __init__(self, out: TextIO, *, details: bool = False) -> None:
        self._out = out
        self.wants_details = details
        self._sink = JsonLinesSink(out)

    def begin(self, file: str, *, nodes: bool = False) -> None:
        pass

    def record(self, record: Record) -> None:
        self._sink.record(record)

    def end(self, result: RunResult) -> None:
        pass

    def close(self) -> None:
        self._out.flush()


class JsonReport:
    """One JSON object: `{"runs": [{"file", result fields, "records": [...]}]}`."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._first_run = True

    def begin(self, file: str, *, nodes: bool = False) -> None:
        self._out.write('{"runs": [\n' if self._first_run else ",\n")
        self._first_run = False
        self._out.write(f'{{"file": {json.dumps(file)}, "records": [')
        self._separator = "\n"

    def record(self, record: Record) -> None:
        self._out.write(self._separator + record_line(record))
        self._separator = ",\n"

    def end(self, result: RunResult) -> None:
        self._out.write("\n], " + printable_json(as_json(result))[1:])

    def close(self) -> None:
        self._out.write("\n]}\n")
        self._out.flush()


def as_json(result: RunResult) -> dict[str, Any]:
    return {
        "scenario": result.scenario,
        "seed": result.seed,
        "seconds": result.duration / 1_000_000,
        "traceHash": result.trace_hash,
        "phases": result.phases,
        "pods": result.outcomes,
        "workloads": result.workloads,
        "events": result.events,
        "expectations": {
            "met": list(result.expectations_met),
            "failed": list(result.expectations_failed),
            "open": list(result.expectations_open),
        },
        "interrupted": result.interrupted,
        "withoutEffect": list(result.without_effect),
        "failures": [failure.to_json() for failure in result.failures],
    }
