"""Typed values: field sets, comparison, merge, removal and validation by schema.

`MISSING` means an absent value; None is null.

Mirrors: structured-merge-diff typed tofieldset.go, compare.go, merge.go, remove.go, validate.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kubesim.cluster.managed.field_sets import FieldSet, Path, field_element, key_element, path_text, value_element
from kubesim.cluster.managed.shapes import DEDUCED, Shape, ShapeKind
from kubesim.cluster.patches.json_patch import equal_json
from kubesim.golang.text import quoted

MISSING: Any = object()


class ShapeError(ValueError):
    """A value that does not match its schema."""


class FieldChanges(NamedTuple):
    removed: FieldSet
    modified: FieldSet
    added: FieldSet


def item_element(shape: Shape, item: Any) -> str:
    """The path element of a list item."""
    if not shape.keys:
        if isinstance(item, dict | list) or item is None:
            is_whole = "that's a map type" if isinstance(item, dict) else "that's a list"
            kind = "that's an explicit null" if item is None else is_whole
            raise ShapeError(f"associative list without keys has an element {kind}")
        return value_element(item)
    if not isinstance(item, dict):
        kind = "a null element" if item is None else "non-map elements"
        raise ShapeError(f"associative list with keys may not have {kind}")
    element, keys = shape.element or DEDUCED, {}
    for name in shape.keys:
        value = item[name] if name in item else element.default(name)
        if value is not None:
            keys[name] = value
    if not keys:
        names = " ".join(f'"{name}"' for name in shape.keys)
        raise ShapeError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_element(keys)


def _is_atomic(shape: Shape, value: Any) -> bool:
    return shape.atomic or (isinstance(value, list) and (shape is DEDUCED or shape.element is DEDUCED))


def _below(shape: Shape, name: str) -> Shape:
    return shape.field(name) or shape.element or DEDUCED


# -- which fields -----------------------------------------------------------------------------------------------------


def field_set(shape: Shape, value: Any) -> FieldSet:
    """The paths of all fields that a value sets."""
    found: set[Path] = set()
    _add_fields(shape, value, (), found)
    return frozenset(found)


def _add_fields(shape: Shape, value: Any, path: Path, found: set[Path]) -> None:
    kind = shape.kind_for(value)
    if kind == "scalar" or _is_atomic(shape, value):
        found.add(path)
    elif kind == "list":
        items = value or []
        names = [item_element(shape, item) for item in items]
        for item, name in zip(items, names, strict=True):
            found.add((*path, name))
            if names.count(name) == 1:
                _add_fields(shape.element or DEDUCED, item, (*path, name), found)
    else:
        for name, item in (value or {}).items():
            where = (*path, field_element(name))
            _add_fields(_below(shape, name), item, where, found)
            if item is None or item == {} or shape.field(name) is None:
                found.add(where)


def with_named_fields(shape: Shape, paths: FieldSet) -> FieldSet:
    """The paths, and the declared fields above them."""
    found = set(paths)
    for path in paths:
        at: Shape | None = shape
        for length, element in enumerate(path[:-1], 1):
            if at is None:
                break
            if element.startswith("f:"):
                below = at.field(element[2:])
                if below is not None:
                    found.add(path[:length])
                at = below or at.element
            else:
                at = at.element
    return frozenset(found)


# -- what differs -----------------------------------------------------------------------------------------------------


class _Comparer:
    def __init__(self) -> None:
        self.removed: set[Path] = set()
        self.modified: set[Path] = set()
        self.added: set[Path] = set()

    def compare(self, shape: Shape, left: Any, right: Any, path: Path) -> None:
        kind: ShapeKind = shape.kind_for(left if right is MISSING or right is None else right)
        empty = left in (MISSING, None, [], {}) and right in (MISSING, None, [], {})
        differs = left is not MISSING and right is not MISSING and shape.kind_for(left) != shape.kind_for(right)
        whole = _is_atomic(shape, left if right is MISSING else right)
        if kind == "scalar" or whole or empty or differs:
            self._leaf(left, right, path)
            return
        if kind == "list":
            self._items(shape, left, right, path)
        else:
            lefts, rights = (each if isinstance(each, dict) else {} for each in (left, right))
            for name in {**lefts, **rights}:
                where = (*path, field_element(name))
                self.compare(_below(shape, name), lefts.get(name, MISSING), rights.get(name, MISSING), where)
        if left is MISSING:
            self.added.add(path)
        elif right is MISSING:
            self.removed.add(path)

    def _leaf(self, left: Any, right: Any, path: Path) -> None:
        if left is MISSING:
            self.added.add(path)
        elif right is MISSING:
            self.removed.add(path)
        elif not equal_json(left, right):
            self.modified.add(path)

    def _items(self, shape: Shape, left: Any, right: Any, path: Path) -> None:
        lefts, rights = _by_name(shape, left), _by_name(shape, right)
        element = shape.element or DEDUCED
        for name in {**lefts, **rights}:
            ours, theirs = lefts.get(name, []), rights.get(name, [])
            where = (*path, name)
            if len(ours) <= 1 and len(theirs) <= 1:
                self.compare(element, ours[0] if ours else MISSING, theirs[0] if theirs else MISSING, where)
            elif len(ours) > 1 and len(theirs) > 1:
                if not equal_json(ours, theirs):
                    self.modified.add(where)
            elif len(ours) > 1:
                if theirs:
                    self.compare(element, MISSING, theirs[0], where)
                self.removed.add(where)
            else:
                if ours:
                    self.compare(element, ours[0], MISSING, where)
                self.added.add(where)


def _by_name(shape: Shape, items: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items if isinstance(items, list) else ():
        found.setdefault(item_element(shape, item), []).append(item)
    return found


def compare(shape: Shape, left: Any, right: Any) -> FieldChanges:
    comparer = _Comparer()
    comparer.compare(shape, left, right, ())
    return FieldChanges(frozenset(comparer.removed), frozenset(comparer.modified), frozenset(comparer.added))


# -- merging ----------------------------------------------------------------------------------------------------------


def merge(shape: Shape, left: Any, right: Any) -> Any:
    """The left value overridden by the right one. `MISSING`: nothing is left."""
    kind = shape.kind_for(left if right is MISSING or right is None else right)
    empty = left in (MISSING, None, [], {}) and right in (MISSING, None, [], {})
    if kind == "scalar" or _is_atomic(shape, left if right is MISSING else right) or empty:
        return left if right is MISSING else right
    if kind == "list":
        merged: Any = _merge_items(shape, left, right)
    else:
        lefts, rights = (each if isinstance(each, dict) else {} for each in (left, right))
        pairs = (
            (name, merge(_below(shape, name), lefts.get(name, MISSING), rights.get(name, MISSING)))
            for name in {**lefts, **rights}
        )
        merged = {name: value for name, value in pairs if value is not MISSING}
    return merged or MISSING


def _merge_items(shape: Shape, left: Any, right: Any) -> list[Any]:
    """Merge list items in the order of the right list; items only in the left one keep their relative position."""
    lefts, rights = _by_name(shape, left), _by_name(shape, right)
    element = shape.element or DEDUCED

    def merged(name: str) -> Any:
        return merge(
            element, lefts[name][0] if name in lefts else MISSING, rights[name][0] if name in rights else MISSING
        )

    out: list[Any] = []
    waiting = list(rights)
    for name in lefts:
        if name not in rights:
            out.append(merged(name))
        elif name == next((other for other in waiting if other in lefts), None):
            end = waiting.index(name) + 1
            out += map(merged, waiting[:end])
            del waiting[:end]
    out += map(merged, waiting)
    return [item for item in out if item is not MISSING]


def remove(shape: Shape, value: Any, paths: FieldSet) -> Any:
    """The value without the fields at these paths."""
    below: dict[str, set[Path]] = {}
    for path in paths:
        if path:
            below.setdefault(path[0], set()).add(path[1:])
    return _remove(shape, value, below)


def _remove(shape: Shape, value: Any, below: dict[str, set[Path]]) -> Any:
    kind = shape.kind_for(value)
    if kind == "scalar" or not isinstance(value, dict | list):
        return value
    if not value or _is_atomic(shape, value):
        return MISSING
    if kind == "list":
        pairs = [(item_element(shape, item), shape.element or DEDUCED, item) for item in value]
        kept: Any = [None if item is MISSING else item for _, item in _kept(pairs, below)]
    else:
        fields: dict[str, Any] = value if isinstance(value, dict) else {}
        named = [(field_element(name), _below(shape, name), item) for name, item in fields.items()]
        kept = {element[2:]: (None if item is MISSING else item) for element, item in _kept(named, below)}
    return kept or MISSING


def _kept(items: list[tuple[str, Shape, Any]], below: dict[str, set[Path]]) -> Iterator[tuple[str, Any]]:
    for element, shape, item in items:
        paths = below.get(element)
        if paths is None:
            yield element, item
        elif () not in paths:
            yield element, remove(shape, item, frozenset(paths))


# -- checking ---------------------------------------------------------------------------------------------------------


def problems(shape: Shape, value: Any) -> list[str]:
    """The errors of a value against its schema, in field order."""
    return list(_problems(shape, value, ""))


def _problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    kind = shape.kind_for(value)
    if kind == "scalar":
        problem = _scalar_problem(shape, value)
        if problem:
            yield f"{path}: {problem}" if path else problem
    elif kind == "list":
        yield from _list_problems(shape, value, path)
    elif not isinstance(value, dict):
        yield _at(path, f"expected map, got {_shown(value)}")
    else:
        for name, item in value.items():
            below = shape.field(name) or shape.element
            where = f"{path}.{name}"
            if below is None:
                yield f"{where}: field not declared in schema"
                return
            yield from _problems(below, item, where)


def _list_problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield _at(path, f"expected list, got {_shown(value)}")
        return
    seen: set[str] = set()
    for number, item in enumerate(value):
        where = f"{path}[{number}]"
        if not _is_atomic(shape, value):
            try:
                name = item_element(shape, item)
            except ShapeError as error:
                yield _at(path, f"element {number}: {error}")
                return
            where = path + path_text((name,))
            if name in seen:
                yield _at(path, f"duplicate entries for key {path_text((name,))}")
            seen.add(name)
        yield from _problems(shape.element or DEDUCED, item, where)


def _scalar_problem(shape: Shape, value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match shape.scalar:
        case "string":
            return (
                "" if isinstance(value, str) else f"expected string, got &value.valueUnstructured{{Value:{_go(value)}}}"
            )
        case "numeric":
            return "" if is_number else f"expected numeric (int or float), got {_go_type(value)}"
        case "boolean":
            return "" if isinstance(value, bool) else f"expected boolean, got {_shown(value)}"
    return f"expected any scalar, got {_shown(value)}" if isinstance(value, dict | list) else ""


def _at(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem


def _go_type(value: Any) -> str:
    names = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), "int64")


def _go(value: Any) -> str:
    """A value in Go's `%#v` format."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[string]interface {}{" + ", ".join(f"{quoted(k)}:{_go(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_go, value)) + "}"
    return quoted(value) if isinstance(value, str) else "interface {}(nil)" if value is None else str(value)


def _shown(value: Any) -> str:
    """A value as plain text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "&{map[" + " ".join(f"{k}:{_plain(v)}" for k, v in sorted(value.items())) + "]}"
    if isinstance(value, list):
        return "&{[" + " ".join(map(_plain, value)) + "]}"
    return f"&{{{_plain(value)}}}"


def _plain(value: Any) -> str:
    shown = _shown(value) if isinstance(value, dict | list | bool) else "<nil>" if value is None else str(value)
    return shown.removeprefix("&{").removesuffix("}") if isinstance(value, dict | list) else shown
