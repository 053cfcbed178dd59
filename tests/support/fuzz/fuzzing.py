"""Runs inputs of a family in worker processes, and collects findings."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.fuzz.families import ROOT

CHUNK = 400  # inputs per process, so that the memory left by one input is not counted for later ones


class Finding(NamedTuple):
    """An input that kubesim handled wrongly."""

    family: str
    number: int
    folder: Path
    problem: str

    def __str__(self) -> str:
        again = f"python -m tools.fuzz {self.family} --first {self.number} --count 1"
        return f"{self.family} {self.number} ({self.folder})\nagain: {again}\n{self.problem}"


def findings(
    name: str, count: int, folder: Path, first: int = 0, progress: Callable[[int], None] = lambda number: None
) -> Iterator[Finding]:
    """The findings among inputs `first` to `first + count - 1`. Files of findings stay in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    number, end = first, first + count
    while number < end:
        for finding in _of_worker(name, number, min(CHUNK, end - number), folder):
            if isinstance(finding, Finding):
                yield finding
            else:
                number = finding + 1
                progress(finding)


def _of_worker(name: str, first: int, count: int, folder: Path) -> Iterator[Finding | int]:
    """Yields findings, and the number of each finished input. An input that ends the worker is a finding."""
    command = [sys.executable, "-m", "tests.support.fuzz.worker", name, str(first), str(count), str(folder)]
    begun, has_begun = first, False
    with tempfile.TemporaryFile("w+") as stderr:
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                said = json.loads(line)
                begun, has_begun = said.get("begin", begun), True
                if "end" in said:
                    ended: int = said["end"]
                    if said["problem"]:
                        yield Finding(name, ended, folder / f"{name}-{ended}", said["problem"])
                    yield ended
        if worker.returncode != 0:
            stderr.seek(0)
            assert has_begun, f"the worker does not start:\n{stderr.read()}"
            yield Finding(
                name,
                begun,
                folder / f"{name}-{begun}",
                f"it ended the process ({worker.returncode}):\n{stderr.read()[-6000:]}",
            )
            yield begun
