"""Cases on an executor: each is one task, and a case whose process is lost fails alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kubesim.executors.executor import Executor, Lost
from kubesim.executors.processes import ProcessPool
from kubesim.testing.cases import ScenarioCase
from kubesim.testing.results import CaseResult

Play = Callable[[ScenarioCase], CaseResult]


def run_in_processes(
    cases: Sequence[ScenarioCase], play: Play, jobs: int, limit_s: float | None = None
) -> Iterator[tuple[int, CaseResult]]:
    """Results with the numbers of their cases, as they come. A case may take `limit_s` seconds of the wall clock."""
    yield from run_cases(ProcessPool(jobs, limit_s), cases, play)


def run_cases(executor: Executor, cases: Sequence[ScenarioCase], play: Play) -> Iterator[tuple[int, CaseResult]]:
    running = executor.results([partial(play, case) for case in cases])
    try:
        for number, result in running:
            case = cases[number]
            if isinstance(result, Lost):
                result = CaseResult(case.file, case.scenario.name, case.seed, case.cell, problem=result.why)
            yield number, result
    finally:
        running.close()  # type: ignore[attr-defined]
