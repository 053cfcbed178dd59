"""Sets of field paths, and their two encodings: FieldsV1 in managedFields, and paths in messages.

A path is a tuple of elements in FieldsV1 format: `f:name` for a field, `k:{"name":"main"}` for an element of a list
with keys, `v:"x"` for an element of a set.

Mirrors: structured-merge-diff fieldpath set.go, serialize.go, element.go
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Path = tuple[str, ...]
FieldSet = frozenset[Path]

EMPTY: FieldSet = frozenset()
_SELF = "."


def field_element(name: str) -> str:
    return f"f:{name}"


def key_element(keys: Mapping[str, Any]) -> str:
    return f"k:{_compact(dict(sorted(keys.items())))}"


def value_element(value: Any) -> str:
    return f"v:{_compact(value)}"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def encode_fields(paths: Iterable[Path]) -> dict[str, Any]:
    """The FieldsV1 tree. A path that has members below it contains `.` if it is itself a member."""
    tree: dict[str, Any] = {}
    members = set(paths)
    for path in sorted(members, key=len):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
    for path in members:
        node = tree
        for element in path:
            node = node[element]
        if node:
            node[_SELF] = {}
    return _sorted(tree)


def _sorted(tree: dict[str, Any]) -> dict[str, Any]:
    return {element: _sorted(tree[element]) for element in sorted(tree)}


def decode_fields(tree: Any) -> FieldSet:
    """The paths in a FieldsV1 tree; raises ValueError if it is invalid."""
    found: set[Path] = set()
    _collect(tree, (), found)
    return frozenset(found)


def _collect(tree: Any, path: Path, found: set[Path]) -> None:
    if not isinstance(tree, dict):
        raise ValueError("a set of fields is an object of objects")
    if path and (not tree or _SELF in tree):
        found.add(path)
    for element, below in tree.items():
        if element == _SELF:
            continue
        if element[:2] not in ("f:", "k:", "v:", "i:"):
            raise ValueError(f"unknown path element {element!r}")
        _collect(below, (*path, element), found)


def path_text(path: Path) -> str:
    """`.spec.containers[name="main"].image`"""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "k:":
        keys = json.loads(text)
        return "[" + ",".join(f"{name}={_compact(value)}" for name, value in keys.items()) + "]"
    return f"[={text}]" if kind == "v:" else f"[{text}]"


def without_below(paths: FieldSet, excluded: Iterable[Path]) -> FieldSet:
    """The paths, without the excluded ones and everything below them."""
    prefixes = set(excluded)
    if not prefixes:
        return paths
    return frozenset(path for path in paths if not any(path[:length] in prefixes for length in range(1, len(path) + 1)))
