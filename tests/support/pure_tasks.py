"""Tasks for tests of executors: they return, die, or hang."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from kubesim.values import value_object


@value_object
class Square:
    """The square of a number. `diary`: each attempt adds a line with the process id, so that a test can count them."""

    number: int
    diary: str = ""

    def __call__(self) -> int:
        note(self.diary)
        return self.number**2


@value_object
class DiesAtFirst:
    """Dies in its first `deaths` attempts, then returns the number."""

    number: int
    diary: str
    deaths: int = 1

    def __call__(self) -> int:
        if note(self.diary) <= self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number


@value_object
class Hangs:
    """Waits for a signal that never comes."""

    diary: str = ""

    def __call__(self) -> int:
        note(self.diary)
        signal.pause()
        raise AssertionError("nothing ends it but SIGKILL")


def note(diary: str) -> int:
    """Add a line; the number of lines."""
    if not diary:
        return 0
    with open(diary, "a") as file:
        file.write(f"{os.getpid()}\n")
    return len(attempts(diary))


def attempts(diary: str | Path) -> list[int]:
    """The processes that ran the task, in order."""
    return [int(line) for line in Path(diary).read_text().splitlines()]
