"""Formats parts of objects for cells: labels, selectors, containers, access modes.

Mirrors: apimachinery/pkg/util/labels; apimachinery/pkg/apis/meta/v1 helpers.go FormatLabelSelector;
pkg/apis/core/helper helpers.go GetAccessModesAsString; pkg/printers/internalversion printers.go layoutContainerCells
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NONE = "<none>"
UNSET = "<unset>"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_MOST = 3  # list items per cell


def format_labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def format_selector(selector: Mapping[str, Any] | None) -> str:
    """A label selector in one line, sorted by key: `a=b,c in (d,e),!f`."""
    if selector is None:
        return NONE
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        terms.append((each["key"], _expression(each)))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0])) or NONE


def _expression(each: Mapping[str, Any]) -> str:
    key, values = each["key"], ",".join(sorted(each.get("values") or ()))
    match each["operator"]:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return str(key)
        case _:
            return f"!{key}"


def names_and_images(template: Mapping[str, Any] | None) -> tuple[str, str]:
    """Names and images of a pod template's containers, in two cells."""
    containers = ((template or {}).get("spec") or {}).get("containers") or ()
    return ",".join(each.get("name", "") for each in containers), ",".join(each.get("image", "") for each in containers)


def access_modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in (modes or ()))


def few(items: Sequence[str], most: int = _MOST) -> str:
    """The first items of a list, and the number of others."""
    if len(items) > most:
        return f"{','.join(items[:most])} + {len(items) - most} more..."
    return ",".join(items) or UNSET


def yes_or_no(value: bool | None) -> str:
    """`True` or `False`, like printBoolPtr."""
    return "<unset>" if value is None else "True" if value else "False"
