"""Finished runs for tests of the stepper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import Record
from kubesim.trace.stepping import RecordCondition, Stepper

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@cache
def records(name: str) -> tuple[Record, ...]:
    sink = MemorySink()
    run_scenario(load_scenario(str(SCENARIOS / f"{name}.yaml")), sinks=(sink,))
    return tuple(sink.records)


def stepper(name: str, *breaks: str) -> Stepper:
    return Stepper(records(name), [RecordCondition.parse(text) for text in breaks])


def found(all: Sequence[Record], condition: str) -> list[Record]:
    parsed = RecordCondition.parse(condition)
    return [record for record in all if parsed.matches(record)]
