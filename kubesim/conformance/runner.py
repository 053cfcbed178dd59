"""Runs corpora: finds the files, runs every case, compares those with an answer.

It returns results; the CLI prints them. Stories of a whole node are found here too; `story_runner` runs them.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from kubesim.clock.garbage import collect_young, collected_rarely
from kubesim.clock.stopwatch import Stopwatch
from kubesim.conformance.frame import (
    NO_ANSWER,
    Case,
    NotRunnable,
    answer_of,
    case_id,
    corpus_module,
    corpus_name,
    judge,
    parse_case,
    read_lines,
)
from kubesim.conformance.results import CaseFailure, CorpusResult, ProgressListener
from kubesim.conformance.stories.story_files import STORY_SUFFIXES, is_story
from kubesim.errors import InputError

SUFFIXES = (".jsonl", ".jsonl.gz")


def find_corpora(paths: Iterable[Path]) -> list[Path]:
    """Every corpus and story in these files and directories, sorted by name within a directory."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (entry for entry in path.rglob("*") if entry.is_file() and _is_input(entry))
            found.update(dict.fromkeys(sorted(inside, key=lambda entry: (corpus_name(entry), entry))))
        elif not path.exists():
            raise InputError(str(path), "no such file or directory")
        elif not path.name.endswith((*SUFFIXES, *STORY_SUFFIXES)):
            ends = " or ".join((*SUFFIXES, *STORY_SUFFIXES))
            raise InputError(str(path), f"not a corpus: the name must end in {ends}")
        else:
            found[path] = None
    return list(found)


def _is_input(path: Path) -> bool:
    """Whether the file is a corpus or story; other JSON files in a directory are ignored."""
    return path.name.endswith(SUFFIXES) or is_story(path)


def run_corpus(path: Path, *, seed: int = 0, watcher: ProgressListener | None = None) -> CorpusResult:
    """Run all cases of a file, in order."""
    watcher = watcher or ProgressListener()
    name = corpus_name(path)
    module = corpus_module(name)
    play = _player(module, seed)
    result = CorpusResult(name)
    with collected_rarely():
        lines = list(read_lines(path))
        watcher.begin(name, len(lines))
        watch = Stopwatch()
        for number, line in lines:
            case = parse_case(path, number, line)
            try:
                output, problem = _play(play, case)
            except NotRunnable as error:
                result.cases += 1
                result.not_runnable[case_id(case)] = str(error)
                watcher.played(case_id(case), None)
                continue
            watcher.played(case_id(case), output)
            _count(result, module, case, output, problem)
            collect_young()
    result.seconds = watch.seconds()
    return result


def _player(module: ModuleType, seed: int) -> Callable[[Case], Any]:
    play: Callable[..., Any] = module.play
    if "seed" in inspect.signature(play).parameters:
        return lambda case: play(case, seed=seed)
    return play


def _play(play: Callable[[Case], Any], case: Case) -> tuple[Any, str]:
    try:
        with _noted_failures() as failures:
            output = play(case)
    except NotRunnable:
        raise
    except Exception as error:  # an exception in one case must not end the others
        return None, _damaged("played", error)
    return (None, _damaged("played", failures[0])) if failures else (output, "")


@contextmanager
def _noted_failures() -> Iterator[list[BaseException]]:
    """Collects exceptions that the event loop would print to stderr: from callbacks and crashed syncs."""
    failures: list[BaseException] = []

    def note(record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            failures.append(record.exc_info[1])
        return False

    logger = logging.getLogger("asyncio")
    logger.addFilter(note)
    try:
        yield failures
    finally:
        logger.removeFilter(note)


def _damaged(what: str, error: BaseException) -> str:
    """The error for a case that fails to run or to be judged: an intact case of this version never does."""
    return f"cannot be {what}: the case is damaged, or of another version ({type(error).__name__}: {error})"


def _count(result: CorpusResult, module: ModuleType, case: Case, output: Any, problem: str) -> None:
    result.cases += 1
    answer = None
    try:
        answer = answer_of(module, case)
        if answer is NO_ANSWER:
            result.not_judged += 1
            return
        differences = [problem] if problem else judge(module, case, answer, output)
    except Exception as error:
        differences = [_damaged("judged", error)]
    if differences:
        result.failures.append(CaseFailure(case_id(case), answer, output, tuple(differences)))
    else:
        result.passed += 1
