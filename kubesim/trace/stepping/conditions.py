"""Conditions on records: `pleg.event ContainerDied`, `cri.call call=StartContainer pod=web`, `t>=10s api.write`.

All words of a condition must match. A word is

- the name of a kind, possibly with wildcards (`cri.*`);
- FIELD=VALUE, FIELD!=VALUE (wildcards are allowed; for a list, one item must match), FIELD~TEXT (the field contains
  this text), FIELD<VALUE, <=, >, >= (numbers; `t` takes durations). Nested fields are separated by dots:
  `summary.containers.main.restartCount>=2`. A pod without a namespace is in `default`;
- anything else: the value of one of the record's fields.

Used by `kubesim run --break-on` and by the questions of labs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from typing import Any

from kubesim.errors import UsageError
from kubesim.golang.durations import parse_duration
from kubesim.trace.records import KINDS, Record
from kubesim.values import value_object

_TEST = re.compile(r"([A-Za-z_][\w.\-]*)(!=|>=|<=|=|~|<|>)(.*)", re.DOTALL)
_NAMES = {"seq", "t", "kind", "ref", *(item.name for kind in KINDS for item in fields(kind))}
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@value_object
class Test:
    """One word of a condition; a word without a field has the operator `word`."""

    __test__ = False  # not a test class for pytest
    field: str
    operator: str
    value: str

    def holds(self, record: Record) -> bool:
        if self.operator == "kind":
            return fnmatchcase(record.KIND, self.value)
        if self.operator == "word":
            return any(_equal(value, self.value, own) for own, value in _own_values(record))
        found = look_up(record, self.field)
        if self.operator in _ORDERS:
            return _compare(found, self.operator, self.value)
        if self.operator == "~":
            return any(self.value in text for text in _texts(found))
        return _equal(found, self.value, self.field) == (self.operator == "=")


@value_object
class RecordCondition:
    """A condition on records; `text` is the original text."""

    text: str
    tests: tuple[Test, ...]

    @staticmethod
    def parse(text: str) -> RecordCondition:
        """Parse a condition. Raises UsageError."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"condition {text!r}: {error}".lower()) from None
        if not words:
            raise UsageError("an empty condition; give a kind of record, such as pleg.event, or FIELD=VALUE")
        return RecordCondition(text, tuple(_test(word, text) for word in words))

    def matches(self, record: Record) -> bool:
        return all(test.holds(record) for test in self.tests)


def _test(word: str, text: str) -> Test:
    parts = _TEST.fullmatch(word)
    if parts is not None:
        field, operator, value = parts.groups()
        if field.split(".")[0] not in _NAMES:
            known = ", ".join(sorted(_NAMES))
            raise UsageError(f"condition {text!r}: no record has a field {field.split('.')[0]!r}; there are {known}")
        if operator in _ORDERS and _number(value) is None:
            raise UsageError(f"condition {text!r}: {value!r} is not a number or a duration such as 10s")
        return Test(field, operator, value)
    kinds = [kind.KIND for kind in KINDS]
    if any(fnmatchcase(kind, word) for kind in kinds):
        return Test("", "kind", word)
    if re.fullmatch(r"[a-z]+\.[a-z*]+", word):
        raise UsageError(f"condition {text!r}: there is no kind {word!r}; there are {', '.join(kinds)}")
    return Test("", "word", word)


def _own_values(record: Record) -> list[tuple[str, Any]]:
    skipped = ("seq", "t", "cause", "why")
    return [(item.name, getattr(record, item.name)) for item in fields(record) if item.name not in skipped]


def look_up(record: Record, path: str) -> Any:
    """The value at a dotted path; a key may itself contain dots."""
    name, _, rest = path.partition(".")
    value: Any = record.KIND if name == "kind" else getattr(record, name, None)
    while rest and isinstance(value, Mapping):
        key = rest if rest in value else rest.partition(".")[0]
        value, rest = value.get(key), rest[len(key) + 1 :]
    return None if rest else value


def _texts(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts(item)]
    return [] if value is None else [_text(value)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _equal(found: Any, wanted: str, field: str) -> bool:
    if isinstance(found, list | tuple):
        return any(_equal(item, wanted, field) for item in found)
    if isinstance(found, Mapping):
        return False
    text = "" if found is None else _text(found)
    if field in ("pod", "pods") and "/" not in wanted:
        text = text.removeprefix("default/")
    return fnmatchcase(text, wanted)


def _number(text: str) -> float | None:
    """A duration in microseconds, or a plain number."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(parse_duration(text))
    except ValueError:
        return None


def _compare(found: Any, operator: str, wanted: str) -> bool:
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    number = _number(wanted)
    return number is not None and _ORDERS[operator](float(found), number)
