"""Parses YAML into documents with the line of every value, for error messages.

Scalars have their Kubernetes meaning (`yes` is true, `12:30` is text). Because a file is user input, nesting, aliases
and repeated keys are limited before any other code traverses the values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

from kubesim.errors import InputError
from kubesim.golang.yaml import plain_scalar
from kubesim.golang.yaml_nodes import TooDeep, UnknownAnchor, YamlNode, documents

MAX_DEPTH = 100
MAX_ALIASED = 100_000  # values that are repeated by aliases

_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = ("", "!", _TAG + "str")
_RESOLVED_TAGS = tuple(_TAG + name for name in ("bool", "float", "int", "null", "timestamp"))

_BYTE_ORDER_MARK = re.compile(r"^\ufeff", re.MULTILINE)
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_NO_SPACE = re.compile(r"\S")

Path = tuple[str | int, ...]


class Marked:
    """A value with its line and column. `items` are the values inside it, `key_lines` and `key_columns` are the
    positions of a mapping's keys."""

    __slots__ = ("column", "items", "key_columns", "key_lines", "line", "repeated", "size", "value")

    def __init__(self, value: Any, line: int, column: int = 1) -> None:
        self.value = value
        self.line = line
        self.column = column
        self.size = 1
        self.items: dict[Any, Marked] | None = None
        self.key_lines: dict[str, int] | None = None
        self.key_columns: dict[str, int] = {}
        self.repeated: Sequence[InputError] = ()  # the keys of the document that are set twice

    def holding(self, value: Any) -> Marked:
        """The same positions for a modified copy of the value."""
        changed = Marked(value, self.line, self.column)
        changed.items, changed.key_lines, changed.repeated = self.items, self.key_lines, self.repeated
        changed.key_columns = self.key_columns
        return changed

    def position_of(self, path: Path) -> tuple[int, int]:
        """The line and column of a field, or of its nearest existing parent."""
        node, position = self, (self.line, self.column)
        for step in path:
            if node.items is None or step not in node.items:
                break
            inside = node.items[step]
            if node.key_lines is None:
                position = (inside.line, inside.column)
            else:
                position = (node.key_lines[str(step)], node.key_columns.get(str(step), 1))
            node = inside
        return position

    def line_of(self, path: Path) -> int:
        return self.position_of(path)[0]


def read_documents(text: str, source: str, *, keep_last: bool = False) -> list[Marked]:
    """The documents that are not empty; a text that begins with a brace may hold several JSON objects.

    A key that is set twice is an error. With `keep_last` the last one wins, as in kubectl, and the key is listed in
    `repeated`.
    """
    if "\ufeff" in text:
        text = _BYTE_ORDER_MARK.sub("", text)  # concatenated files may each begin with one
    pieces = _json_objects(text) if text.lstrip().startswith("{") else []
    if pieces:
        return [document for piece in pieces for document in _read(piece, source, keep_last)]
    return _read(text, source, keep_last)


def _json_objects(text: str) -> list[str]:
    """The JSON objects of a text, each after as many empty lines as precede it in the text; empty if the text is not
    all JSON."""
    decoder, position, pieces = json.JSONDecoder(), 0, []
    while (found := _NO_SPACE.search(text, position)) is not None:
        try:
            _, position = decoder.raw_decode(text, found.start())
        except (json.JSONDecodeError, RecursionError):
            return []  # possibly flow-style YAML, whose parser has better error messages
        piece = _SURROGATES.sub(_one_character, text[found.start() : position])
        pieces.append("\n" * text.count("\n", 0, found.start()) + piece)
    return pieces


def _one_character(found: re.Match[str]) -> str:
    """Join a surrogate pair: JSON writes characters beyond 16 bits as two escapes, which YAML does not support."""
    code = 0x10000 + ((int(found[2], 16) & 0x3FF) << 10) + (int(found[3], 16) & 0x3FF)
    return f"{found[1]}\\U{code:08x}"


def _read(text: str, source: str, keep_last: bool) -> list[Marked]:
    try:
        marked = [_Marker(source, keep_last).document(document) for document in documents(text, MAX_DEPTH)]
        return [document for document in marked if document.value is not None]
    except TooDeep as error:
        raise InputError(source, f"nested more than {MAX_DEPTH} levels deep", line=error.line) from None
    except UnknownAnchor as error:
        raise InputError(source, f"malformed YAML: there is no anchor &{error.anchor}", line=error.line) from None
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
        problem = "a tab in the indentation, where YAML requires spaces"
    return InputError(source, f"malformed YAML: {problem} (column {mark.column + 1})", line=mark.line + 1)


class _Marker:
    """Converts the nodes of one document into values with positions."""

    def __init__(self, source: str, keep_last: bool) -> None:
        self._source = source
        self._keep_last = keep_last
        self._repeated: list[InputError] = []
        self._aliased = 0
        self._complete: dict[YamlNode, Marked] = {}

    def _fail(self, problem: str, line: int) -> InputError:
        return InputError(self._source, problem, line=line)

    def document(self, node: YamlNode) -> Marked:
        marked = self.mark(node)
        marked.repeated = self._repeated
        return marked

    def mark(self, node: YamlNode) -> Marked:
        if node.target is not None:
            return self._alias(node, node.target)
        if node.kind == "scalar":
            marked = Marked(self._scalar(node), *node.position)
        else:
            marked = self._sequence(node) if node.kind == "sequence" else self._mapping(node)
        self._complete[node] = marked
        return marked

    def _alias(self, node: YamlNode, target: YamlNode) -> Marked:
        marked = self._complete.get(target)
        if marked is None:
            raise self._fail(f"the value of &{node.event.anchor} contains itself", node.line)
        self._aliased += marked.size
        if self._aliased > MAX_ALIASED:
            raise self._fail(f"aliases expand this to more than {MAX_ALIASED} values", node.line)
        return marked

    def _scalar(self, node: YamlNode) -> Any:
        event = node.event
        if event.implicit[0]:
            return plain_scalar(event.value)
        if event.implicit[1] or (event.tag or "") in _TEXT_TAGS:
            return event.value
        if event.tag in _RESOLVED_TAGS:
            return plain_scalar(event.value)
        raise self._fail(f"the tag {str(event.tag).replace(_TAG, '!!')} is not supported here", node.line)

    def _sequence(self, node: YamlNode) -> Marked:
        marked = Marked([], *node.position)
        marked.items = {}
        for child in node.children:
            item = self.mark(child)
            marked.items[len(marked.value)] = item
            marked.value.append(item.value)
            marked.size += item.size
        return marked

    def _mapping(self, node: YamlNode) -> Marked:
        values: dict[str, Any] = {}
        items: dict[Any, Marked] = {}
        lines: dict[str, int] = {}
        marked = Marked(values, *node.position)
        marked.items, marked.key_lines = items, lines
        merged: list[Marked] = []
        for key_node, value_node in node.pairs():
            key, value = self._key(key_node), self.mark(value_node)
            marked.size += 1 + value.size
            if key == "<<" and key_node.kind == "scalar" and key_node.event.implicit[0]:
                merged.append(value)
                continue
            line, column = key_node.position
            if key in lines:
                problem = f"given twice (first on line {lines[key]})"
                error = InputError(self._source, problem, line=line, field=key, column=column)
                if not self._keep_last:
                    raise error
                self._repeated.append(error)
            lines[key], items[key], values[key] = line, value, value.value
            marked.key_columns[key] = column
        for other in merged:
            self._merge(marked, other)
        return marked

    def _key(self, node: YamlNode) -> str:
        """The text of the key, unconverted: `yes` and `1` are names."""
        marked = None
        if node.kind == "scalar":
            marked = self._complete[node] = Marked(node.event.value, *node.position)
        elif node.kind == "alias":
            marked = self.mark(node)
        if marked is None or not isinstance(marked.value, str):
            raise self._fail("a key must be text", node.line)
        return marked.value

    def _merge(self, node: Marked, other: Marked) -> None:
        """Apply `<<`: add the keys of another mapping, or of several, that this mapping does not have."""
        parts = list((other.items or {}).values()) if isinstance(other.value, list) else [other]
        for part in parts:
            if part.key_lines is None or part.items is None:
                raise self._fail("<< needs a mapping, or a list of mappings", other.line)
            assert node.items is not None
            assert node.key_lines is not None
            for key, item in part.items.items():
                if key not in node.items:
                    node.items[key], node.value[key] = item, item.value
                    node.key_lines[key] = part.key_lines[key]
                    node.key_columns[key] = part.key_columns.get(key, 1)
