"""Runs one case: plays the scenario, and compares its timeline with the stored one, if any."""

from __future__ import annotations

import os
from io import StringIO
from traceback import extract_tb

from kubesim.app import run_scenario
from kubesim.clock.stopwatch import Stopwatch
from kubesim.errors import Deadlock, KubesimError
from kubesim.scenario.ending.failure import Failure
from kubesim.scenario.ending.result import RunResult
from kubesim.testing.cases import ScenarioCase
from kubesim.testing.results import CaseResult
from kubesim.testing.snapshots import compare_snapshot, write_snapshot
from kubesim.trace import HashSink, Sink
from kubesim.trace.sinks.console import ConsoleSink
from kubesim.values import replace

WIDTH = 120  # maximum number of lines in a stored timeline


def play_case(case: ScenarioCase, *, update: bool = False) -> CaseResult:
    """Run the case. A failing scenario is a result, not an exception. `update` stores the current timeline."""
    watch, scenario = Stopwatch(), case.scenario
    result = CaseResult(case.file, scenario.name, case.seed, case.cell)
    stored = case.snapshot if case.snapshot and (os.path.exists(case.snapshot) or (update and case.named)) else ""
    out = StringIO()
    timeline = timeline_sink(out, nodes=len(scenario.spec.nodes) > 1)
    hashed = HashSink(placeholders=scenario.spec.runtime == "cni")
    sinks: list[Sink] = [hashed, *([timeline] if stored else [])]
    try:
        played = run_scenario(scenario, seed=case.seed, sinks=sinks)
    except Deadlock as error:
        failure = Failure("deadlock", "the run continues to its end", str(error), file=case.file)
        return replace(result, failures=(failure,), seconds=watch.seconds())
    except KubesimError as error:
        return replace(result, problem=str(error), seconds=watch.seconds())
    except Exception as error:  # a bug in kubesim must not end the other cases
        return replace(result, problem=f"a defect of kubesim: {_described(error)}", seconds=watch.seconds())
    result = _filled(result, played)
    if played.left_behind:
        result = replace(result, problem=f"still on this machine: {'; '.join(map(str, played.left_behind))}")
    if stored:
        timeline.close()
        result = _with_snapshot(result, stored, out.getvalue(), update)
    return replace(result, seconds=watch.seconds())


def _described(error: Exception) -> str:
    """The error and the line that raised it."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(frame.filename)}:{frame.lineno})"


def timeline_sink(out: StringIO, *, nodes: bool) -> ConsoleSink:
    """The timeline in the snapshot format, independent of the terminal."""
    return ConsoleSink(out, "story", width=WIDTH, nodes=nodes)


def _filled(result: CaseResult, played: RunResult) -> CaseResult:
    return replace(
        result,
        duration=played.duration,
        records=played.records,
        trace_hash=played.trace_hash or "",
        met=len(played.expectations_met),
        failures=played.failures,
    )


def _with_snapshot(result: CaseResult, stored: str, timeline: str, update: bool) -> CaseResult:
    if update:
        write_snapshot(stored, timeline)
        return replace(result, snapshot="written")
    failure = compare_snapshot(stored, timeline)
    if failure is None:
        return replace(result, snapshot="same")
    return replace(result, failures=(*result.failures, failure))
