"""kubectl's output formats: table, YAML, JSON, name, JSONPath, custom columns.

Mirrors: cli-runtime/pkg/printers tableprinter.go, yaml.go, json.go, name.go; kubectl/pkg/cmd/get customcolumn.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesim.cluster.kubectl.arguments import KubectlError, name_with_kind
from kubesim.cluster.kubectl.jsonpath import JsonPath, JsonPathError
from kubesim.cluster.kubectl.tabwriter import aligned
from kubesim.cluster.kubectl.yaml_writer import to_yaml
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.tables.rules import table_of
from kubesim.cluster.tables.table import Cell, JsonObject, TableContext
from kubesim.cluster.tables.texts import NONE, format_labels
from kubesim.golang.json import dumps_in_order
from kubesim.values import value_object

FORMATS = ("wide", "yaml", "json", "name")
PATHS = ("jsonpath", "custom-columns")


@value_object
class TableStyle:
    """Options of a table. `with_kind`: names are prefixed with their kind."""

    wide: bool = False
    headers: bool = True
    with_namespace: bool = False
    with_kind: bool = False
    show_labels: bool = False
    label_columns: tuple[str, ...] = ()


def table(resource: Resource, objects: Sequence[JsonObject], now: int, style: TableStyle) -> str:
    rules = table_of(resource.kind)
    context, shown = TableContext(now, style.wide), rules.shown(style.wide)
    rows = []
    if style.headers:
        names = [rules.columns[number].name.upper() for number in shown]
        rows.append([*(["NAMESPACE"] if style.with_namespace else []), *names, *_label_headers(style)])
    for obj in objects:
        cells = [cell_text(cell) for cell in rules.cells(obj, context)]
        if style.with_kind and rules.columns[0].name == "Name":
            cells[0] = name_with_kind(resource, cells[0])
        metadata = obj["metadata"]
        before = [metadata.get("namespace", "")] if style.with_namespace else []
        rows.append([*before, *(cells[number] for number in shown), *_labels(metadata.get("labels") or {}, style)])
    return in_columns(rows)


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Lines of a table in kubectl's column widths."""
    return aligned("".join("\t".join(row) + "\n" for row in rows), least=6, padding=3)


def _label_headers(style: TableStyle) -> list[str]:
    return [*(name.rpartition("/")[2].upper() for name in style.label_columns), *(["LABELS"] * style.show_labels)]


def _labels(labels: dict[str, str], style: TableStyle) -> list[str]:
    return [
        *(labels.get(name) or NONE for name in style.label_columns),
        *([format_labels(labels)] * style.show_labels),
    ]


def cell_text(cell: Cell) -> str:
    """The first line of a text."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    lines = str(cell).replace("\r", "\n").replace("\f", "\n").split("\n")
    return lines[0] + ("..." if len(lines) > 1 else "")


def as_list(objects: Sequence[JsonObject]) -> JsonObject:
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"resourceVersion": ""}}


def as_yaml(obj: JsonObject) -> str:
    return to_yaml(obj)


def as_json(obj: JsonObject) -> str:
    """JSON as Go prints a map: four spaces, sorted keys."""
    return dumps_in_order(_sorted(obj), indent=4) + "\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def by_path(template: str, obj: JsonObject) -> str:
    try:
        return JsonPath(template).text(obj)
    except JsonPathError as error:
        raise KubectlError(f"error: error parsing jsonpath {template}, {error}") from None


def relaxed(path: str) -> str:
    """Accepts `.metadata.name`, `metadata.name` and `{.metadata.name}` as the same path."""
    inner = path.removeprefix("{").removesuffix("}")
    return "{" + (inner if inner.startswith((".", "[", "$", "@")) else f".{inner}") + "}"


def custom_columns(spec: str, objects: Sequence[JsonObject], *, headers: bool = True) -> str:
    """Parse `NAME:.metadata.name,PHASE:.status.phase`."""
    if not spec:
        raise KubectlError("error: custom-columns format specified but no custom columns given")
    names, paths = [], []
    for part in spec.split(","):
        name, colon, path = part.partition(":")
        if not colon or ":" in path.replace("::", ""):
            problem = "expected <header>:<json-path-expr>"
            raise KubectlError(f"error: unexpected custom-columns spec: {part}, {problem}")
        names.append(name)
        paths.append(JsonPath(relaxed(path)))
    rows = [names] if headers else []
    try:
        rows += [[_values(path, obj) for path in paths] for obj in objects]
    except JsonPathError as error:
        raise KubectlError(f"error: {error}") from None
    return in_columns(rows)


def _values(path: JsonPath, obj: JsonObject) -> str:
    found = [value for values in path.results(obj) for value in values]
    return ",".join(map(_go_text, found)) if found else NONE


def _go_text(value: Any) -> str:
    """A JSON value in Go's `%v` format."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go_text(item)}' for key, item in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go_text, value))}]"
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def sort_by(path: str, objects: Sequence[JsonObject]) -> list[JsonObject]:
    """Sort by the value at a path; objects without it come first."""
    try:
        template = JsonPath(relaxed(path))
        keyed = [([v for found in template.results(obj) for v in found], obj) for obj in objects]
        return [obj for _, obj in sorted(keyed, key=lambda pair: (bool(pair[0]), pair[0][:1]))]
    except (JsonPathError, TypeError) as error:
        raise KubectlError(f"error: {error}") from None
