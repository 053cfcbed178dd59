"""Results of a corpus run, and the progress listener."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kubesim.values import mutable, value_object


@value_object
class CaseFailure:
    """A case with a wrong answer; `differences` in words."""

    case: str
    expected: Any
    actual: Any
    differences: tuple[str, ...]


@mutable
class CorpusResult:
    name: str
    cases: int = 0
    passed: int = 0
    not_judged: int = 0  # the file gives no answer to compare with
    not_runnable: dict[str, str] = field(default_factory=dict)  # case -> what it lacks here
    seconds: float = 0.0
    failures: list[CaseFailure] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return len(self.failures)


class ProgressListener:
    """Is notified of every case while a corpus runs; the default does nothing."""

    def begin(self, name: str, cases: int, *, one_file: bool = True) -> None:
        """`one_file`: the answers belong together; else each case's is a file of its own."""

    def played(self, case: str, output: Any) -> None: ...
