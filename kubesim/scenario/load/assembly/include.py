"""`spec.include`: other files whose documents become part of a scenario.

Lists are joined: first the items of the including file, then those of the included ones in their order. Mappings are
merged. For other values, the including file wins, then the first included file that sets one. Objects of included files
are applied, too. A problem in an included file is reported with its name and its line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from kubesim.errors import FileLine, InputError
from kubesim.scenario.load.yaml_source import Marked

INCLUDE = "include"
MOST_FILES = 100

Read = Callable[[str], list[Marked]]


class Includes:
    """Reads the files that a scenario includes, each once. `read` returns the documents of a file; `outside` allows
    files outside the directory of the first file."""

    def __init__(self, source: str, directory: str, read: Read, *, outside: bool) -> None:
        self._root = os.path.realpath(directory or ".")
        self._read = read
        self._outside = outside
        self._files = {os.path.realpath(source): None}
        self.manifests: list[tuple[str, Marked]] = []  # plain objects, with their file names

    def resolve(self, scenario: Marked, source: str, directory: str, chain: tuple[str, ...] = ()) -> Marked:
        """The scenario with all its included files. Raises InputError."""
        chain = (*chain, os.path.realpath(source))
        spec = (scenario.items or {}).get("spec")
        listed = (spec.items or {}).get(INCLUDE) if spec is not None else None
        if spec is None or listed is None:
            return scenario
        if not isinstance(listed.value, list):
            raise InputError(source, "must be a list of files", line=listed.line, field=f"spec.{INCLUDE}")
        for number, name in enumerate(listed.value):
            if not isinstance(name, str) or not name:
                line = (listed.items or {})[number].line
                raise InputError(source, "must be the name of a file", line=line, field=f"spec.{INCLUDE}[{number}]")
        merged = _without(spec, INCLUDE)
        for number, name in enumerate(listed.value):
            line = (listed.items or {})[number].line
            where: dict[str, Any] = {"line": line, "field": f"spec.{INCLUDE}[{number}]"}
            path = os.path.join(directory, name)
            self._check(path, name, source, where, chain)
            if os.path.realpath(path) in self._files:
                continue
            self._files[os.path.realpath(path)] = None
            if len(self._files) > MOST_FILES:
                raise InputError(source, f"more than {MOST_FILES} files are included", **where)
            for document in self._read(path):
                merged = self._add(merged, document, path, chain)
        return _with(scenario, "spec", merged)

    def _check(self, path: str, name: str, source: str, where: dict[str, Any], chain: tuple[str, ...]) -> None:
        real = os.path.realpath(path)
        if real in chain:
            names = " includes ".join(os.path.basename(file) for file in (*chain[chain.index(real) :], real))
            raise InputError(source, f"a circle: {names}", **where)
        if not self._outside and os.path.commonpath((self._root, real)) != self._root:
            problem = f"{name} is outside of the directory of the scenario: move it there, or allow that with"
            raise InputError(source, f"{problem} --allow-host", **where)
        if not os.path.isfile(path):
            raise InputError(source, f"no such file: {path}", **where)

    def _add(self, spec: Marked, document: Marked, path: str, chain: tuple[str, ...]) -> Marked:
        value = document.value
        _set_source(document, path)
        if not isinstance(value, dict):
            problem = "a document must be a mapping with apiVersion and kind"
            raise InputError(path, problem, line=document.line)
        if value.get("kind") != "Scenario":
            self.manifests.append((path, document))
            return spec
        whole = self.resolve(document, path, os.path.dirname(path), chain)
        other = (whole.items or {}).get("spec")
        if other is None or other.value is None:
            return spec
        if not isinstance(other.value, dict):
            raise InputError(path, "must be a mapping of fields", line=other.line, field="spec")
        return merge(spec, other)


def merge(own: Marked, other: Marked) -> Marked:
    """Merge two values of the same field. Neither is modified."""
    if isinstance(own.value, list) and isinstance(other.value, list):
        items = [*(own.items or {}).values(), *(other.items or {}).values()]
        joined = Marked([item.value for item in items], own.line)
        joined.items = dict(enumerate(items))
        return joined
    if not isinstance(own.value, dict) or not isinstance(other.value, dict):
        return own
    merged = own
    for key, item in (other.items or {}).items():
        present = (merged.items or {}).get(key)
        line = (other.key_lines or {})[key] if present is None else None
        merged = _with(merged, key, item if present is None else merge(present, item), line)
    return merged


def _with(mapping: Marked, key: str, item: Marked, line: int | None = None) -> Marked:
    changed = Marked({**mapping.value, key: item.value}, mapping.line)
    changed.items = {**(mapping.items or {}), key: item}
    changed.key_lines = {**(mapping.key_lines or {}), **({} if line is None else {key: line})}
    changed.repeated = mapping.repeated
    return changed


def _without(mapping: Marked, key: str) -> Marked:
    changed = Marked({name: value for name, value in mapping.value.items() if name != key}, mapping.line)
    changed.items = {name: item for name, item in (mapping.items or {}).items() if name != key}
    changed.key_lines = {name: line for name, line in (mapping.key_lines or {}).items() if name != key}
    return changed


def _set_source(document: Marked, source: str) -> None:
    """Set the source file of every value of a document."""
    for node in _nodes(document, set()):
        node.line = FileLine(node.line, source)
        if node.key_lines is not None:
            node.key_lines = {key: FileLine(line, source) for key, line in node.key_lines.items()}


def _nodes(node: Marked, seen: set[int]) -> Iterator[Marked]:
    """All values, each once; an alias repeats a value."""
    if id(node) not in seen:
        seen.add(id(node))
        yield node
        for item in (node.items or {}).values():
            yield from _nodes(item, seen)
