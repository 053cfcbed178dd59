"""JSON to YAML, as Kubernetes prints it: keys in natural order, quotes only where needed.

Mirrors: sigs.k8s.io/yaml Marshal; go.yaml.in/yaml/v2 encode.go stringv, sorter.go keyList
"""

from __future__ import annotations

import re
from functools import cmp_to_key
from typing import Any

import yaml

from kubesim.golang.yaml import plain_scalar

_TIMESTAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([Tt ]\d{1,2}:\d{1,2}:\d{1,2}(\.\d*)?([Zz]|[+-]\d\d:\d\d)?)?")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")


class _Writer(yaml.SafeDumper):
    """Writes YAML without anchors: a shared object is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml(value: Any, *, in_order: bool = False) -> str:
    """The value as YAML; with `in_order`, keys keep their order."""
    shown = value if in_order else _sorted(value)
    return yaml.dump(
        shown, Dumper=_Writer, sort_keys=False, default_flow_style=False, width=1 << 30, allow_unicode=True
    )


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=cmp_to_key(_natural))}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _natural(a: str, b: str) -> int:
    """Sort key: letters after everything else, numbers by value."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x == y:
            continue
        if x.isalpha() or y.isalpha():
            return (x > y) - (x < y) if x.isalpha() and y.isalpha() else 1 if x.isalpha() else -1
        ours, theirs = (re.match(r"\d*", text[i:], re.ASCII) for text in (a, b))
        left, right = (found[0] if found else "" for found in (ours, theirs))
        first, second = (int(left or 0), len(left), x), (int(right or 0), len(right), y)
        return 1 if first > second else -1
    return len(a) - len(b)


def _text(writer: _Writer, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not _is_plain(text):
        style = '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_plain(text: str) -> bool:
    """Whether the text is still a string when unquoted."""
    return isinstance(plain_scalar(text), str) and not _TIMESTAMP.fullmatch(text) and not _BASE_60.fullmatch(text)


_Writer.add_representer(str, _text)
