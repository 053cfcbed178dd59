"""Results of a corpus run, and the progress listener."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kubesim.values import mutable, value_object


@value_object
class CaseFailure:
    """A case with a wrong answer; `differences` describes them."""

    case: str
    expected: Any
    actual: Any
    differences: tuple[str, ...]


@mutable
class CorpusResult:
    name: str
    cases: int = 0
    passed: int = 0
    not_judged: int = 0  # the file has no answers
    not_runnable: dict[str, str] = field(default_factory=dict)  # case -> its missing requirement
    seconds: float = 0.0
    failures: list[CaseFailure] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return len(self.failures)


class ProgressListener:
    """Called for every case of a running corpus; does nothing by default."""

    def begin(self, name: str, cases: int, *, one_file: bool = True) -> None:
        """Start a corpus. `one_file`: all answers go into one file, else each case's into its own."""

    def played(self, case: str, output: Any) -> None: ...
