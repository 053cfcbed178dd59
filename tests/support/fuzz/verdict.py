"""Rules that every run of kubesim must follow. Pure: from its output to a problem, or none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kubesim.golang.durations import parse_duration

CODES = (0, 1, 2, 3, 130)
USAGE = 2
MAX_MEMORY_MB = 500
MAX_SECONDS = 10
_ERROR = "kubesim: error: "
_INTERRUPTED = re.compile(r"interrupted after (\S+) on the node")
_MOMENT = re.compile(r'"t": ([\d.]+)')
# Python's messages about wrong types, which must not reach a user.
_PYTHON = re.compile(
    r"object has no attribute|object is not (iterable|subscriptable|callable|a mapping)|unhashable type|NoneType"
    r"|unsupported operand|not supported between|indices must be|must be real number|argument of type|codec can't"
    r"|expected (str|string|bytes|int)\b.*, not|positional argument|keyword argument|out of range$|<class '"
    r"|\bKeyError\b|\bValueError\b|\bTypeError\b| object at 0x"
)


def problem_of(code: object, out: str, err: str) -> str:
    """The problem in the output; empty if there is none. JSON may contain control characters only as escapes."""
    for text in (err, out):
        if "Traceback (most recent call last)" in text:
            return f"a traceback:\n{text[-4000:]}"
    if code not in CODES or isinstance(code, bool):
        return f"exit code {code!r}\n{err[-2000:]}"
    complaints = [line for line in err.split("\n") if line.startswith(_ERROR)]
    if code == USAGE and (len(complaints) != 1 or not err.endswith(f"{complaints[0]}\n")):
        return f"exit code 2 without one line that says why:\n{err[-2000:]}"
    if "Warning: " in err:
        return f"a warning of Python:\n{err[-2000:]}"
    if raw := next((line for line in complaints if _PYTHON.search(line)), ""):
        return f"an error in Python's words: {raw[:500]}"
    return _unprintable([*err.split("\n"), *out.split("\n")])


def slowness(out: str) -> str:
    """The problem of a run interrupted after MAX_SECONDS; none if it simulated at least that much time."""
    moments = [parse_duration(found) / 1e6 for found in _INTERRUPTED.findall(out)] + [
        float(found) for found in _MOMENT.findall(out)[-1:]
    ]
    passed = max(moments, default=0)
    return "" if passed >= MAX_SECONDS else f"{MAX_SECONDS} s of CPU time for {passed} s of the run"


def _unprintable(lines: Sequence[str]) -> str:
    bad = next((line for line in lines if not line.isprintable()), None)
    return "" if bad is None else f"a control character: {bad[:500]!r}"
