"""Common frame of all corpora: reading, running and comparing cases.

A corpus is a file of cases, one JSON object per line: an id (`case` or `id`), the input, and optionally the expected
answer (`output` or `out`). The module `kubesim.conformance.corpora.NAME` plays one:

    play(case)                      -> the output, in the corpus' own format; `play(case, seed=N)` if chance has a part
    judge(case, expected, actual)   -> differences in words; optional, equality otherwise
    ANSWER_FIELDS                   the fields of a case that are its answer, where they stand beside the input
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TextIO

from kubesim.errors import InputError, not_json
from kubesim.golang.json import kind_of

Case = dict[str, Any]


class NotRunnable(Exception):
    """A case needs something that this machine lacks; the message names it."""


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file; an invalid one raises an error with the line."""
    return (parse_case(path, number, line) for number, line in read_lines(path))


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of the cases. A decoded case takes many times the memory of its line."""
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        raise InputError(str(path), "no such file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(str(path), f"damaged gzip file: {error}", line=number + 1) from None
    except UnicodeDecodeError:
        raise InputError(str(path), "not UTF-8 text", line=number + 1) from None


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def parse_case(path: Path, number: int, line: str) -> Case:
    try:
        case = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise not_json(str(path), error, number) from None
    if not isinstance(case, dict):
        raise InputError(str(path), f"a case is a JSON object, not {kind_of(case)}", line=number)
    if not isinstance(case_id(case), str):
        raise InputError(str(path), "a case needs an id", line=number, field="case")
    return case


def case_id(case: Case) -> Any:
    return case.get("case", case.get("id"))


class _NoAnswer:
    """The case has no expected answer."""


NO_ANSWER: Final = _NoAnswer()


def answer_of(module: ModuleType, case: Case) -> Any:
    """The expected answer, or NO_ANSWER."""
    fields: tuple[str, ...] = getattr(module, "ANSWER_FIELDS", ())
    given = {name: case[name] for name in fields if name in case}
    if given:
        return given
    return next((case[name] for name in ("output", "out") if name in case), NO_ANSWER)


def corpus_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def corpus_module(name: str) -> ModuleType:
    return importlib.import_module(f"kubesim.conformance.corpora.{name}")


def is_known(name: str) -> bool:
    """Whether a module exists for this corpus."""
    return name.isidentifier() and importlib.util.find_spec(f"kubesim.conformance.corpora.{name}") is not None


def judge(module: ModuleType, case: Case, expected: Any, actual: Any) -> list[str]:
    """Differences between the expected and the actual answer; empty = passed."""
    custom = getattr(module, "judge", None)
    if custom is not None:
        return list(custom(case, expected, actual))
    return list(differences(expected, actual))


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """The differences between two JSON values, one line each."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            where = f"{path}.{key}" if path else key
            if key not in actual:
                yield f"{where}: missing, expected {_short(expected[key])}"
            elif key not in expected:
                yield f"{where}: not expected, got {_short(actual[key])}"
            else:
                yield from differences(expected[key], actual[key], where)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for n, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(left, right, f"{path}[{n}]")
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield f"{path}: expected {_short(expected)}, got {_short(actual)}"


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= 300 else text[:297] + "..."
