"""Signal names and numbers, and signal dispositions of processes."""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import Enum

INT, QUIT, KILL, PIPE, TERM, CHLD, CONT, STOP = 2, 3, 9, 13, 15, 17, 18, 19
SIGNAL_NAMES = {
    1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1",
    11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 17: "CHLD", 18: "CONT", 19: "STOP", 20: "TSTP",
    21: "TTIN", 22: "TTOU", 23: "URG", 28: "WINCH",
}  # fmt: skip
_NUMBERS = {name: number for number, name in SIGNAL_NAMES.items()}
HARMLESS = frozenset({CHLD, CONT, 20, 21, 22, 23, 28})  # ignored by default; stopping processes is not modelled


def signal_number(name: str) -> int | None:
    """The number of `TERM`, `SIGTERM` or `15`; None if there is no such signal."""
    if name.isdigit():
        return int(name) if int(name) == 0 or int(name) in SIGNAL_NAMES else None
    return _NUMBERS.get(name.upper().removeprefix("SIG"))


class Disposition(Enum):
    """How a process reacts to a signal, if not by default. A number is a handler that exits with it."""

    IGNORE = "ignore"
    CATCH = "catch"


Dispositions = Mapping[int, Disposition | int]
NO_HANDLERS: Dispositions = types.MappingProxyType({})


def inherited(dispositions: Dispositions) -> Dispositions:
    """The dispositions that exec keeps: only ignored signals stay ignored."""
    if not dispositions:
        return NO_HANDLERS
    return {number: action for number, action in dispositions.items() if action is Disposition.IGNORE}
