"""Reader of saved traces (`kubesim run -o jsonl`): records, or an InputError for the line that is not a record.

Other lines of a saved run (`kubesim run --save`) are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from kubesim.errors import InputError, not_json
from kubesim.trace.compare.lives import pod_lives
from kubesim.trace.records import KINDS, Record
from kubesim.trace.sinks.jsonl import record_line
from kubesim.trace.sinks.phrases import phrase

_BY_NAME = {kind.KIND: kind for kind in KINDS}
_DEFAULTS = {kind.KIND: {each.name: getattr(kind(), each.name) for each in fields(kind)} for kind in KINDS}
_HINT = "give what `kubesim run -o jsonl` printed"
_OF_A_SAVED_RUN = '{"type": '  # a record begins with its number instead


def read_trace(lines: Iterable[str], source: str) -> list[Record]:
    """Read the records of one run; `source` names the file in errors. Raises InputError."""
    records: list[Record] = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith(_OF_A_SAVED_RUN):
            records.append(_record(line, source, number))
            _check_order(records, source, number)
    if not records:
        raise InputError(source, f"it has no records: {_HINT}")
    return records


def as_saved(records: Iterable[Record]) -> list[Record]:
    """The records as if read from a file, to compare a run with a saved one."""
    return read_trace(map(record_line, records), "this run")


def _check_order(records: list[Record], source: str, line: int) -> None:
    """Check that no record is missing, because causes are record numbers."""
    found, expected = records[-1].seq, len(records)
    if found == expected:
        return
    if found == 1:
        raise InputError(source, "another run begins here: save each run in a separate file", line=line)
    raise InputError(source, f"record {expected} is missing: the next one has the number {found}", line=line)


def _record(line: str, source: str, number: int) -> Record:
    try:
        content = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise not_json(source, error, number) from None
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in _BY_NAME:
        problem = f"is not a trace record: {_HINT}" if kind is None else f"unknown kind of record {kind!r}: {_HINT}"
        raise InputError(source, problem, line=number)
    values = {name: value for name, value in content.items() if name not in ("kind", "ref")}
    known = _DEFAULTS[kind]
    for name, value in values.items():
        if name not in known or not _fits(value, known[name], name):
            raise InputError(source, f"does not fit a record of kind {kind}: {_HINT}", line=number, field=name)
        if isinstance(known[name], tuple):
            values[name] = tuple(value)
    values["t"] = round(values.get("t", 0) * 1_000_000)
    record = _BY_NAME[kind](**values)
    try:
        phrase(record)
        pod_lives([record])
    except (AttributeError, KeyError, TypeError, ValueError):  # raised for values nested in a field
        raise InputError(source, f"does not fit a record of kind {kind}: {_HINT}", line=number) from None
    return record


def _fits(value: Any, default: Any, name: str) -> bool:
    """Whether a JSON value has the type of a field, given the field's default."""
    if default is None and name not in ("cause", "requeue"):
        return True
    if isinstance(default, tuple):
        return isinstance(value, list)
    if isinstance(default, dict | str | bool):
        return isinstance(value, type(default))
    return isinstance(value, int | float) and not isinstance(value, bool)
