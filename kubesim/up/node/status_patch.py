"""The patch of a changed status that a kubelet sends: a strategic merge patch with only the differences.

Mirrors: apimachinery/pkg/util/strategicpatch patch.go CreateTwoWayMergePatch, for the lists of a status
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Lists whose items are merged by a key; all other lists are replaced.
_KEYS = {"conditions": "type", "podIPs": "ip", "hostIPs": "ip", "addresses": "type"}


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The patch from one JSON value to another; removed fields are null."""
    patch: dict[str, Any] = {}
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if name in _KEYS and isinstance(after, list):
            patch |= _merged_list(name, before or [], after)
        elif isinstance(before, dict) and isinstance(after, dict):
            patch[name] = changes(before, after)
        else:
            patch[name] = after
    return patch


def _merged_list(name: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    """The changed items, the items to delete, and the new order."""
    key = _KEYS[name]
    known, kept = {item[key]: item for item in before}, {item[key] for item in after}
    items = [item if item[key] not in known else {key: item[key]} | changes(known[item[key]], item)
             for item in after if known.get(item[key]) != item]  # fmt: skip
    items += [{key: item[key], "$patch": "delete"} for item in before if item[key] not in kept]
    found: dict[str, Any] = {f"$setElementOrder/{name}": [{key: item[key]} for item in after]}
    return found | ({name: items} if items else {})
