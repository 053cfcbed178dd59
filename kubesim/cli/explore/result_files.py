"""The directory of results: one file of JSON lines for each shard."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.explore.results.lines import ReadResults
    from kubesim.explore.search.exploration import ExploreResult

SUFFIX = ".jsonl"


def check_output(directory: Path | None) -> None:
    """Check before a search that its results can be written."""
    if directory is not None:
        with _errors_of(directory):
            directory.mkdir(parents=True, exist_ok=True)
            if not os.access(directory, os.W_OK):
                raise PermissionError(13, "Permission denied")


def write_lines(result: ExploreResult, directory: Path) -> Path:
    """Write the lines of a search or a shard atomically: a killed process leaves no partial file."""
    from kubesim.explore.results.lines import lines_of

    index, count = result.settings.shard
    path = directory / (f"shard-{index + 1}-of-{count}{SUFFIX}" if count > 1 else f"results{SUFFIX}")
    with _errors_of(directory):
        directory.mkdir(parents=True, exist_ok=True)
        written = path.with_name(f".{path.name}.{os.getpid()}")
        written.write_text("".join(f"{line}\n" for line in lines_of(result)), encoding="utf-8")
        written.replace(path)
    return path


def read_results(paths: Sequence[str]) -> ReadResults:
    """The results in these files and directories, including subdirectories."""
    from kubesim.explore.results.lines import ReadResults, read_lines

    found = ReadResults()
    for given in map(Path, paths):
        if not given.exists():
            raise UsageError(f"{given}: no such file or directory")
        files = sorted(given.rglob(f"*{SUFFIX}")) if given.is_dir() else [given]
        if not files:
            raise UsageError(f"{given}: has no file of results (*{SUFFIX})")
        for path in files:
            with _errors_of(path):
                text = path.read_text(encoding="utf-8", errors="replace")
            try:
                read_lines(text.split("\n"), found)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise UsageError(f"{path}: these results are from another version of kubesim") from None
    return found


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
