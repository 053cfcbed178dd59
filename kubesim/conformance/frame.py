"""How a corpus is played and judged.

A corpus is a file of cases; the module `kubesim.conformance.corpora.NAME` knows how to play one:

    play(case)                      -> the output, in the corpus' own format
    judge(case, expected, actual)   -> differences in words; optional, equality otherwise
"""

from __future__ import annotations

import gzip
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

Case = dict[str, Any]


def read_cases(path: Path) -> Iterator[Case]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def corpus_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def corpus_module(name: str) -> ModuleType:
    return importlib.import_module(f"kubesim.conformance.corpora.{name}")


def judge(module: ModuleType, case: Case, actual: Any) -> list[str]:
    """Differences between what the case expects and what was answered; empty = passed."""
    custom = getattr(module, "judge", None)
    if custom is not None:
        return list(custom(case, case["output"], actual))
    return list(differences(case["output"], actual))


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Where two JSON values differ, one line each."""
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
