"""The parts of a table: columns, and a function that returns the cells of an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubesim.api.timestamps import parse_time
from kubesim.cluster.tables.ages import UNKNOWN, human_duration
from kubesim.values import value_object

JsonObject = dict[str, Any]
Cell = str | int | bool


@value_object
class Column:
    """A column. `type` is its JSON type; a column with a priority is shown only with `-o wide`."""

    name: str
    type: str = "string"
    priority: int = 0
    description: str = ""
    format: str = ""


@value_object
class TableContext:
    """The time of a table, in microseconds since the epoch, and whether to include wide columns."""

    now: int
    wide: bool = False

    def age(self, obj: JsonObject) -> str:
        return self.since(dig(obj, "metadata.creationTimestamp"))

    def since(self, timestamp: str | None) -> str:
        return self.ago(parse_time(timestamp)) if timestamp else UNKNOWN

    def ago(self, moment: int) -> str:
        """The age since a time. All age texts of a table are produced here."""
        return human_duration(self.now - moment)


@value_object
class TableRules:
    """The table of a kind. `cells` returns a cell for each column, including wide ones."""

    columns: Sequence[Column]
    cells: Callable[[JsonObject, TableContext], Sequence[Cell]]

    def shown(self, wide: bool) -> list[int]:
        """The indexes of the visible columns."""
        return [number for number, column in enumerate(self.columns) if wide or not column.priority]


def columns(plain: str, wide: str = "") -> tuple[Column, ...]:
    """Columns from comma-separated names; `Desired:integer` sets the type."""

    def made(text: str, priority: int) -> list[Column]:
        named = (name.strip().partition(":") for name in text.split(",") if name)
        return [Column(name, type or "string", priority) for name, _, type in named]

    return (*made(plain, 0), *made(wide, 1))


def dig(value: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path, or the default if a part of it is missing or null."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
        if value is None:
            return default
    return value


def condition(obj: JsonObject, type: str) -> JsonObject | None:
    """The condition of this type in the status."""
    return next((each for each in dig(obj, "status.conditions", ()) if each.get("type") == type), None)


def is_true(obj: JsonObject, type: str) -> bool:
    found = condition(obj, type)
    return found is not None and found.get("status") == "True"
