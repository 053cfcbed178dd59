"""Results of test cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kubesim.scenario.ending.failure import Failure
from kubesim.values import value_object

Status = Literal["passed", "failed", "error"]


@value_object
class CaseResult:
    """The result of a case, sent from the worker to the parent. Durations are microseconds; `seconds` is real time.
    `problem` explains a missing result: the process died, or exceeded the limit.
    """

    file: str
    scenario: str
    seed: int
    cell: str = ""
    seconds: float = 0.0
    duration: int = 0
    records: int = 0
    trace_hash: str = ""
    met: int = 0
    failures: tuple[Failure, ...] = ()
    problem: str = ""
    snapshot: Literal["", "same", "written"] = ""

    @property
    def status(self) -> Status:
        return "error" if self.problem else "failed" if self.failures else "passed"

    @property
    def label(self) -> str:
        return f"seed {self.seed}" + (f", {self.cell}" if self.cell else "")

    @property
    def again(self) -> str:
        """The command that runs this case again."""
        return f"kubesim test {self.file} --seeds {self.seed}"

    def lines(self) -> list[str]:
        """All errors."""
        if self.problem:
            return [f"{self.file}: {self.problem}"]
        return [line for failure in self.failures for line in failure.lines()]

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"file": self.file, "scenario": self.scenario, "seed": self.seed}
        shown |= {"cell": self.cell} if self.cell else {}
        shown |= {"status": self.status, "seconds": round(self.seconds, 3), "secondsOnTheNode": self.duration / 1e6}
        shown |= {"expectationsMet": self.met, "traceHash": self.trace_hash}
        shown |= {"snapshot": self.snapshot} if self.snapshot else {}
        shown |= {"problem": self.problem} if self.problem else {}
        return shown | {"failures": [failure.to_json() for failure in self.failures]}


@value_object
class SuiteResult:
    """All results in the order of the cases; after an interrupt, those so far."""

    results: Sequence[CaseResult]
    cases: int
    seconds: float
    jobs: int
    interrupted: bool = False

    def count(self, status: Status) -> int:
        return sum(result.status == status for result in self.results)

    @property
    def ok(self) -> bool:
        return all(result.status == "passed" for result in self.results)

    def to_json(self) -> dict[str, Any]:
        counts = {"passed": self.count("passed"), "failed": self.count("failed"), "errors": self.count("error")}
        ends = {"interrupted": self.interrupted, "seconds": round(self.seconds, 3), "jobs": self.jobs}
        return {**counts, "cases": self.cases, **ends, "results": [result.to_json() for result in self.results]}
