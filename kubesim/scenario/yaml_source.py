"""YAML text -> documents that remember on which line everything stands, for error messages that point at it.

Scalars mean what they mean to Kubernetes (`yes` is true, `12:30` is text). A file is somebody's input: nesting, aliases
and repeated keys are limited here, before anything walks over the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from yaml import AliasEvent, MappingEndEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from kubesim.api.goyaml import plain_scalar
from kubesim.errors import InputError

MAX_DEPTH = 100
MAX_ALIASED = 100_000  # values that stand there only because an alias repeats them

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = ("", "!", _TAG + "str")
_RESOLVED_TAGS = tuple(_TAG + name for name in ("bool", "float", "int", "null", "timestamp"))

Path = tuple[str | int, ...]


class Marked:
    """A value and its line; `items` are the values inside it, `key_lines` where the keys of a mapping stand."""

    __slots__ = ("items", "key_lines", "line", "size", "value")

    def __init__(self, value: Any, line: int) -> None:
        self.value = value
        self.line = line
        self.size = 1
        self.items: dict[Any, Marked] | None = None
        self.key_lines: dict[str, int] | None = None

    def line_of(self, path: Path) -> int:
        """The line of a field, or of the nearest thing around it that is there."""
        node, line = self, self.line
        for step in path:
            if node.items is None or step not in node.items:
                break
            line = node.items[step].line if node.key_lines is None else node.key_lines[str(step)]
            node = node.items[step]
        return line


def read_documents(text: str, source: str) -> list[Marked]:
    """The documents that hold something."""
    events = yaml.parse(text, Loader=_LOADER)
    try:
        return list(_Composer(events, source).documents())
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, source) from None
    except yaml.YAMLError as error:
        raise InputError(source, f"this is not YAML: {error}") from None


def _syntax_error(error: yaml.MarkedYAMLError, text: str, source: str) -> InputError:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "this is not YAML"
    if mark is None:
        return InputError(source, f"malformed YAML: {problem}")
    lines = text.splitlines()
    if mark.line >= len(lines) and error.context_mark is not None:
        mark, problem = error.context_mark, f"{problem} before the end of the file"
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        problem = "a tab in the indentation, where YAML wants spaces"
    return InputError(source, f"malformed YAML: {problem} (column {mark.column + 1})", line=mark.line + 1)


class _Composer:
    """Builds values from the parser's events; the parser itself does not recurse, and this does so only to a limit."""

    def __init__(self, events: Iterator[Any], source: str) -> None:
        self._events = events
        self._source = source
        self._aliased = 0

    def documents(self) -> Iterator[Marked]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors: dict[str, Marked | None] = {}
                document = self._node(next(self._events), 0)
                if document.value is not None:
                    yield document

    def _fail(self, problem: str, line: int) -> InputError:
        return InputError(self._source, problem, line=line)

    def _node(self, event: Any, depth: int) -> Marked:
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise self._fail(f"nested more than {MAX_DEPTH} levels deep", line)
        if isinstance(event, AliasEvent):
            return self._alias(event, line)
        anchor = event.anchor
        if anchor:
            self._anchors[anchor] = None  # known, but not complete: an alias to it would contain itself
        if isinstance(event, ScalarEvent):
            node = Marked(self._scalar(event, line), line)
        elif isinstance(event, SequenceStartEvent):
            node = self._sequence(line, depth)
        else:
            node = self._mapping(line, depth)
        if anchor:
            self._anchors[anchor] = node
        return node

    def _alias(self, event: Any, line: int) -> Marked:
        if event.anchor not in self._anchors:
            raise self._fail(f"malformed YAML: nothing is named &{event.anchor}", line)
        target = self._anchors[event.anchor]
        if target is None:
            raise self._fail(f"the value of &{event.anchor} contains itself", line)
        self._aliased += target.size
        if self._aliased > MAX_ALIASED:
            raise self._fail(f"aliases blow this up to more than {MAX_ALIASED} values", line)
        return target

    def _scalar(self, event: Any, line: int) -> Any:
        if event.implicit[0]:
            return plain_scalar(event.value)
        if event.implicit[1] or (event.tag or "") in _TEXT_TAGS:
            return event.value
        if event.tag in _RESOLVED_TAGS:
            return plain_scalar(event.value)
        raise self._fail(f"the tag {str(event.tag).replace(_TAG, '!!')} means nothing here", line)

    def _sequence(self, line: int, depth: int) -> Marked:
        node = Marked([], line)
        node.items = {}
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            item = self._node(event, depth + 1)
            node.items[len(node.value)] = item
            node.value.append(item.value)
            node.size += item.size
        return node

    def _mapping(self, line: int, depth: int) -> Marked:
        values: dict[str, Any] = {}
        items: dict[Any, Marked] = {}
        lines: dict[str, int] = {}
        node = Marked(values, line)
        node.items, node.key_lines = items, lines
        merged: list[Marked] = []
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            key, key_line = self._key(event)
            value = self._node(next(self._events), depth + 1)
            node.size += 1 + value.size
            if key == "<<" and event.implicit[0]:
                merged.append(value)
                continue
            if key in lines:
                problem = f"given twice (first on line {lines[key]})"
                raise InputError(self._source, problem, line=key_line, field=key)
            lines[key], items[key], values[key] = key_line, value, value.value
        for other in merged:
            self._merge(node, other)
        return node

    def _key(self, event: Any) -> tuple[str, int]:
        line = event.start_mark.line + 1
        if isinstance(event, ScalarEvent):
            value = event.value
        elif isinstance(event, AliasEvent):
            value = self._alias(event, line).value
        else:
            value = None
        if not isinstance(value, str):
            raise self._fail("a key must be text", line)
        return value, line

    def _merge(self, node: Marked, other: Marked) -> None:
        """`<<`: the keys of another mapping, or of several, where this one does not have them."""
        parts = list((other.items or {}).values()) if isinstance(other.value, list) else [other]
        for part in parts:
            if part.key_lines is None or part.items is None:
                raise self._fail("<< wants a mapping, or a list of mappings", other.line)
            assert node.items is not None
            assert node.key_lines is not None
            for key, item in part.items.items():
                if key not in node.items:
                    node.items[key], node.value[key] = item, item.value
                    node.key_lines[key] = part.key_lines[key]
