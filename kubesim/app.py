"""The composition root (being written)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubesim.scenario.language import Scenario
from kubesim.trace import Sink


@dataclass(frozen=True, slots=True)
class RunResult:
    """What is left to say when a run is over. Durations are microseconds."""

    scenario: str
    seed: int
    duration: int  # virtual time that passed
    records: int
    trace_hash: str | None  # if a HashSink was among the sinks
    phases: dict[str, str]  # namespace/name -> the last phase seen at the API server, for pods that are there no more, too
    expectations_met: tuple[str, ...]
    expectations_failed: tuple[str, ...]
    events: int

    @property
    def ok(self) -> bool:
        return not self.expectations_failed


def run_scenario(
    scenario: Scenario,
    *,
    seed: int | None = None,
    until: int | None = None,
    speed: float = 0.0,
    sinks: Sequence[Sink] = (),
    every_tick: bool = False,
) -> RunResult:
    """Play a scenario in virtual time."""
    raise NotImplementedError
