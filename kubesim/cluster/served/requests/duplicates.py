"""Fields that stand twice in a text, each with its path.

Mirrors: sigs.k8s.io/json internal/golang/encoding/json decode.go (saveStrictError, duplicate field);
sigs.k8s.io/yaml UnmarshalStrict
"""

from __future__ import annotations

import json
from typing import Any

from kubesim.golang.yaml_duplicates import duplicate_keys


class _Object:
    """An object as it was written: all its pairs, in order."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def json_duplicates(text: str) -> list[str]:
    """Of a text that is JSON."""
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
    """The complaints about a text in YAML, each with its line."""
    return [f'yaml: unmarshal errors:\n  line {line}: key "{key}" already set in map' for line, key in duplicate_keys(text)]
