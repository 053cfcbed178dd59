"""What is wrong with the form of a kubeconfig that the `kubernetes` package could not use, in words.

Nothing of the file but names of fields is quoted: a value may be a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_ENTRIES = {"clusters": "cluster", "contexts": "context", "users": "user"}
_OBJECTS = frozenset({"exec", "auth-provider", "impersonate-user-extra"})
_SWITCHES = frozenset({"insecure-skip-tls-verify", "disable-compression"})
_LISTS = frozenset({"extensions", "impersonate-groups"})


def misfit(paths: str) -> str:
    """The first field that is not of the type that kubectl expects; empty if all are."""
    for path in paths.split(os.pathsep):
        try:
            content = yaml.safe_load(Path(path).expanduser().read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError, RecursionError):
            continue
        for problem in _misfits(content):
            return problem
    return ""


def _misfits(content: Any) -> Iterator[str]:
    if not isinstance(content, dict):
        yield "must be an object with clusters, contexts and users"
        return
    if not isinstance(content.get("current-context", ""), str):
        yield "current-context: must be a string"
    for name, inner in _ENTRIES.items():
        entries = content.get(name, [])  # another file may have them
        if not isinstance(entries, list):
            yield f"{name}: must be a list"
            continue
        for number, entry in enumerate(entries):
            where = f"{name}[{number}]"
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                yield f"{where}: must be an object with a name and a {inner}"
            elif not isinstance(entry.get(inner), dict):
                yield f"{where}.{inner}: must be an object"
            else:
                yield from _fields(f"{where}.{inner}", entry[inner])


def _fields(where: str, fields: dict[Any, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if name in _OBJECTS:
            if not isinstance(value, dict):
                yield f"{where}.{name}: must be an object"
        elif name in _SWITCHES:
            if not isinstance(value, bool):
                yield f"{where}.{name}: must be true or false"
        elif name not in _LISTS and not isinstance(value, str):
            yield f"{where}.{name}: must be a string"
