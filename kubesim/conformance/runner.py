"""Runs corpora: finds the files, plays every case, judges those that carry an answer.

Results only; what is printed is the command line's business. A new kind of input (stories of a whole cluster, which
are one file each) joins here: another suffix in `find_corpora`, and its own function beside `run_corpus`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from kubesim.clock.stopwatch import Stopwatch
from kubesim.conformance.frame import Case, answer_field, case_id, corpus_module, corpus_name, judge, read_cases
from kubesim.errors import InputError

SUFFIXES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Failure:
    """A case whose answer was not the right one; `differences` in words."""

    case: str
    expected: Any
    actual: Any
    differences: tuple[str, ...]


@dataclass(slots=True)
class CorpusResult:
    name: str
    cases: int = 0
    passed: int = 0
    not_judged: int = 0  # the file gives no answer to compare with
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return len(self.failures)


class Watcher:
    """Hears of every case while a corpus runs; the default does nothing."""

    def begin(self, name: str, cases: int) -> None: ...

    def played(self, case: str, output: Any) -> None: ...


def find_corpora(paths: Iterable[Path]) -> list[Path]:
    """Every corpus in these files and directories, in order of name within a directory."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (entry for entry in path.rglob("*") if entry.name.endswith(SUFFIXES) and entry.is_file())
            found.update(dict.fromkeys(sorted(inside, key=lambda entry: (corpus_name(entry), entry))))
        elif not path.exists():
            raise InputError(str(path), "no such file or directory")
        elif not path.name.endswith(SUFFIXES):
            raise InputError(str(path), f"not a corpus: the name must end in {' or '.join(SUFFIXES)}")
        else:
            found[path] = None
    return list(found)


def run_corpus(path: Path, *, seed: int = 0, watcher: Watcher | None = None) -> CorpusResult:
    """Play all cases of a file, in order."""
    watcher = watcher or Watcher()
    name = corpus_name(path)
    module = corpus_module(name)
    play = _player(module, seed)
    cases = list(read_cases(path))
    watcher.begin(name, len(cases))
    result, watch = CorpusResult(name), Stopwatch()
    for case in cases:
        output, problem = _play(play, case)
        watcher.played(case_id(case), output)
        _count(result, module, case, output, problem)
    result.seconds = watch.seconds()
    return result


def _player(module: ModuleType, seed: int) -> Callable[[Case], Any]:
    play: Callable[..., Any] = module.play
    if "seed" in inspect.signature(play).parameters:
        return lambda case: play(case, seed=seed)
    return play


def _play(play: Callable[[Case], Any], case: Case) -> tuple[Any, str]:
    try:
        return play(case), ""
    except Exception as error:  # whatever goes wrong in one case must not end the others
        return None, f"{type(error).__name__}: {error}"


def _count(result: CorpusResult, module: ModuleType, case: Case, output: Any, problem: str) -> None:
    result.cases += 1
    answer = answer_field(case)
    if answer is None:
        result.not_judged += 1
        return
    differences = [f"could not be played: {problem}"] if problem else judge(module, case, output)
    if differences:
        result.failures.append(Failure(case_id(case), case[answer], output, tuple(differences)))
    else:
        result.passed += 1
