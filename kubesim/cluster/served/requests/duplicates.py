"""Fields that occur twice in a JSON or YAML text, with their paths.

Mirrors: sigs.k8s.io/json internal/golang/encoding/json decode.go (saveStrictError, duplicate field); sigs.k8s.io/yaml
UnmarshalStrict
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from kubesim.golang.yaml_nodes import TooDeep, UnknownAnchor, YamlNode, documents

_MAX_DEPTH = 1000


class _Object:
    """A JSON object as the list of all its pairs, duplicates included."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def json_duplicates(text: str) -> list[str]:
    """The duplicate fields of a JSON text."""
    try:
        value = json.loads(text, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        return []
    found: dict[str, None] = {}
    _collect(value, "", found)
    return list(found)


def _collect(value: Any, path: str, found: dict[str, None]) -> None:
    if isinstance(value, list):
        for number, item in enumerate(value):
            _collect(item, f"{path}[{number}]", found)
    elif isinstance(value, _Object):
        seen: set[str] = set()
        for name, item in value.pairs:
            where = f"{path}.{name}" if path else name
            if name in seen:
                found[where] = None
            seen.add(name)
            _collect(item, where, found)


def yaml_duplicates(text: str) -> list[str]:
    """The single error about duplicate keys in a YAML text, which names every line; empty if there are none."""
    found = _duplicate_keys(text)
    lines = "".join(f'\n  line {line}: key "{key}" already set in map' for line, key in found)
    return [f"yaml: unmarshal errors:{lines}"] if found else []


def _duplicate_keys(text: str) -> list[tuple[int, str]]:
    """Line and name of each key that repeats an earlier one, in order."""
    try:
        root = next(documents(text.encode(errors="surrogateescape"), _MAX_DEPTH), None)
    except (yaml.YAMLError, TooDeep, UnknownAnchor):
        return []
    found: list[tuple[int, str]] = []
    open_nodes: list[YamlNode] = [] if root is None else [root]
    while open_nodes:
        node = open_nodes.pop()
        if node.kind == "mapping":
            seen: set[str] = set()
            for key, _ in node.pairs():
                name = getattr(key.event, "value", None)
                if name is None:
                    continue
                if name in seen:
                    found.append((key.line, name))
                seen.add(name)
        open_nodes += node.children
    return sorted(found)
