"""Search for fields of an object that have no effect, before defaulting.

One pass over the object by its declared type. It skips structs without such a field at any depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kubesim.api.effects.object_rows import OBJECT_ROWS
from kubesim.api.effects.pod_rows import POD_ROWS
from kubesim.api.effects.rows import FieldRow
from kubesim.api.schema.types import parse_type, struct_fields
from kubesim.values import value_object

JsonObject = dict[str, Any]
_Path = tuple["_Path", str, int | None] | None  # the path from the object, formatted only if a field is found

ROWS: Mapping[str, FieldRow] = {name: row for row in (*POD_ROWS, *OBJECT_ROWS) for name in row.fields.split()}
_SKIPPED = ("status",)  # clients cannot set it
_SAME_FIELDS = {"EphemeralContainer": "Container"}


@value_object
class _Step:
    """The meaning of a field for the scan: its row, or the fields of its struct."""

    row: FieldRow | None
    inside: Mapping[str, _Step]


def fields_without_effect(kind: str, manifest: JsonObject) -> list[str]:
    """The paths of fields without effect: `spec.containers[0].securityContext.seLinuxOptions`. `kind` must be a
    declared kind.
    """
    found: list[str] = []
    _walk(_steps(parse_type(kind).struct), manifest, None, found)
    return found


def _walk(steps: Mapping[str, _Step], value: JsonObject, path: _Path, found: list[str]) -> None:
    for name in value:
        if name not in steps:
            continue
        step, item = steps[name], value[name]
        if step.row is not None:
            if item is not None and not step.row.requests_nothing(item):
                found.append(_shown((path, name, None)))
        elif isinstance(item, list):
            for n, element in enumerate(item):
                if isinstance(element, dict):
                    _walk(step.inside, element, (path, name, n), found)
        elif isinstance(item, dict):
            _walk(step.inside, item, (path, name, None), found)


def _shown(path: _Path) -> str:
    if path is None:
        return ""
    before, name, index = path
    return f"{_shown(before)}{'.' if before else ''}{name}{'' if index is None else f'[{index}]'}"


@cache
def _steps(struct: str) -> Mapping[str, _Step]:
    """The fields of a struct that lead to a row."""
    found = {}
    for name, field in struct_fields(struct).items():
        row = ROWS.get(f"{_SAME_FIELDS.get(struct, struct)}.{name}")
        inner = field.type
        while inner.element is not None:
            inner = inner.element
        inside = _steps(inner.struct) if row is None and inner.struct and name not in _SKIPPED else {}
        if row is not None or inside:
            found[name] = _Step(row, inside)
    return found
