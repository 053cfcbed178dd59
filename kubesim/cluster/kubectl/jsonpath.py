"""kubectl's JSONPath templates: `{.items[*].metadata.name}`, `{range .items[*]}...{end}`, filters, unions, slices.

A template is text with actions in braces. An action is a sequence of steps, each from a list of values to a list of
values.

Mirrors: client-go/util/jsonpath parser.go, jsonpath.go
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kubesim.golang.json import dumps
from kubesim.values import value_object

Values = list[Any]
Step = Callable[[Values], Values]

_NAME_END = re.compile(r"(?:\\.|[^\s.,\[\]$@{}\\])*", re.DOTALL)
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_FILTER = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]*")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


class JsonPathError(ValueError):
    """A template that cannot be parsed, or does not match the value."""


@value_object
class PathAction:
    """An action; `keyword` is `range`, `end` or empty."""

    keyword: str
    steps: tuple[Step, ...]

    def of(self, value: Any) -> Values:
        return _walk(self.steps, [value])


class JsonPath:
    """A parsed template."""

    def __init__(self, text: str) -> None:
        self._nodes = list(_Parser(text).template())

    def results(self, value: Any) -> list[Values]:
        """The result of each action; text becomes a list with one item."""
        out: list[Values] = []
        end = self._run(0, value, out, depth=0)
        assert end == len(self._nodes)
        return out

    def text(self, value: Any) -> str:
        return "".join(" ".join(map(printed, values)) for values in self.results(value))

    def _run(self, at: int, value: Any, out: list[Values], depth: int) -> int:
        """Run actions up to the `end` of this range; returns its position."""
        while at < len(self._nodes):
            node = self._nodes[at]
            if isinstance(node, str):
                out.append([node])
            elif node.keyword == "end":
                if not depth:
                    raise JsonPathError("not in range, nothing to end")
                return at
            elif node.keyword == "range":
                start, found = at + 1, node.of(value)
                at = self._run(start, None, [], depth + 1)
                for each in found:
                    self._run(start, each, out, depth + 1)
            else:
                out.append(node.of(value))
            at += 1
        return len(self._nodes)


def printed(value: Any) -> str:
    """A value as output: text unquoted, objects and lists as JSON."""
    if isinstance(value, dict | list):
        return dumps(value)
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _walk(steps: Sequence[Step], values: Values) -> Values:
    for step in steps:
        values = step(values)
    return values


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def template(self) -> list[PathAction | str]:
        nodes: list[PathAction | str] = []
        while self._at < len(self._text):
            brace = self._text.find("{", self._at)
            if brace < 0:
                nodes.append(self._text[self._at :])
                break
            if brace > self._at:
                nodes.append(self._text[self._at : brace])
            self._at = brace + 1
            nodes.append(self.action())
        return nodes

    def action(self) -> PathAction:
        """Parse an action: from after the opening brace to after the closing one."""
        keyword, steps = "", list[Step]()
        while not self._skip("}"):
            if self._at >= len(self._text) or self._text[self._at] in "\r\n":
                raise JsonPathError("unclosed action")
            char = self._text[self._at]
            if self._skip("[?("):
                steps.append(self._filter())
            elif self._skip(".."):
                steps.append(_recursive)
                if self._peek().isalnum() or self._peek() == "_":
                    steps.append(self._field())
            elif char in " @$":
                self._at += 1
            elif char == "[":
                steps += self._brackets()
            elif char in "\"'":
                steps.append(partial(_constant, self._quoted(char)))
            elif self._skip("."):
                steps.append(self._field())
            elif char in "+-" or char.isdigit():
                steps.append(partial(_constant, self._number()))
            elif char.isalnum() or char == "_":
                word = self._name()
                if word in ("true", "false"):
                    steps.append(partial(_constant, word == "true"))
                elif word in ("range", "end"):
                    keyword = word
                else:
                    raise JsonPathError(f"unrecognized identifier {word}")
            else:
                raise JsonPathError(f"unrecognized character in action: U+{ord(char):04X} '{char}'")
        return PathAction(keyword, tuple(steps))

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, prefix: str) -> bool:
        found = self._text.startswith(prefix, self._at)
        self._at += len(prefix) if found else 0
        return found

    def _name(self) -> str:
        found = _NAME_END.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return found[0].replace("\\", "")

    def _field(self) -> Step:
        name = self._name()
        return _wildcard if name == "*" else partial(_member, name)

    def _number(self) -> int | float:
        found = _NUMBER.match(self._text, self._at)
        text = found[0] if found else ""
        self._at += len(text)
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            raise JsonPathError(f"cannot parse number {text}") from None

    def _quoted(self, quote: str) -> str:
        found = re.compile(rf"{quote}((?:[^\\{quote}\n]|\\.)*){quote}").match(self._text, self._at)
        if found is None:
            raise JsonPathError("unterminated quoted string")
        self._at = found.end()
        try:
            return str(ast.literal_eval(found[0])) if "\\" in found[1] else found[1]
        except (SyntaxError, ValueError):
            raise JsonPathError(f"unquote string {found[0]} error invalid syntax") from None

    def _brackets(self) -> list[Step]:
        end = self._text.find("]", self._at)
        if end < 0:
            raise JsonPathError("unterminated array")
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        if "," in inside:
            parts = [_Parser(f"[{part.strip(' ')}]}}").action().steps for part in inside.split(",")]
            return [partial(_union, parts)]
        if len(inside) > 1 and inside[0] == inside[-1] == "'":
            return list(_Parser(f".{inside[1:-1]}}}").action().steps)
        found = _SLICE.fullmatch(":" if inside == "*" else inside)
        if found is None:
            raise JsonPathError(f"invalid array index {inside}")
        return [partial(_slice, (found[1], found[2], found[3]))]

    def _filter(self) -> Step:
        """Parse a filter after `[?(`; quoted text may contain brackets."""
        found = re.compile(r"""((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^"')\n])*)\)(\]?)""").match(
            self._text, self._at
        )
        if found is None:
            raise JsonPathError("unterminated filter")
        if not found[2]:
            raise JsonPathError("unclosed array expect ]")
        self._at = found.end()
        parts = _FILTER.fullmatch(found[1])
        if parts is None:
            return partial(_having, _Parser(found[1] + "}").action().steps)
        left, right = (_Parser(part + "}").action().steps for part in (parts[1], parts[3]))
        if parts[2] not in _COMPARE:
            raise JsonPathError(f"unrecognized filter operator {parts[2]}")
        return partial(_where, left, _COMPARE[parts[2]], right)


# -- the steps --------------------------------------------------------------------------------------------------


def _constant(value: Any, values: Values) -> Values:
    return [value]


def _member(name: str, values: Values) -> Values:
    """The value of a key; nothing if it is missing."""
    return [value[name] for value in values if isinstance(value, dict) and name in value]


def _children(value: Any) -> Values:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _wildcard(values: Values) -> Values:
    return [child for value in values for child in _children(value)]


def _recursive(values: Values) -> Values:
    out: Values = []
    for value in values:
        if children := _children(value):
            out += [value, *_recursive(children)]
    return out


def _union(parts: Sequence[Sequence[Step]], values: Values) -> Values:
    return [found for steps in parts for found in _walk(steps, values)]


def _slice(written: tuple[str, str | None, str | None], values: Values) -> Values:
    first, last, step = written
    out: Values = []
    for value in values:
        if value is None:
            continue
        if not isinstance(value, list):
            raise JsonPathError(f"{dumps(value)[:40]} is not array or slice")
        length, begin = len(value), int(first or 0)
        end = begin + 1 if last is None else int(last[1:]) if last[1:] else length
        begin += length if begin < 0 else 0
        end += length if end < 0 or (end == 0 and last is None) else 0
        stride = int(step[1:]) if step and step[1:] else 1
        if begin == end:
            return out
        if not 0 <= begin < length:
            raise JsonPathError(f"array index out of bounds: index {begin}, length {length}")
        if not 0 <= end <= length:
            raise JsonPathError(f"array index out of bounds: index {end - 1}, length {length}")
        if begin > end:
            raise JsonPathError(f"starting index {begin} is greater than ending index {end}")
        if stride <= 0:
            raise JsonPathError("step must be > 0")
        out += value[begin:end:stride]
    return out


def _items(values: Values) -> Values:
    for value in values:
        if not isinstance(value, list):
            raise JsonPathError(f"{dumps(value)[:40]} is not array or slice and cannot be filtered")
    return [item for value in values for item in value]


def _having(steps: Sequence[Step], values: Values) -> Values:
    return [item for item in _items(values) if _walk(steps, [item])]


def _where(left: Sequence[Step], compares: Callable[[Any, Any], bool], right: Sequence[Step], values: Values) -> Values:
    out: Values = []
    for item in _items(values):
        ours, theirs = _walk(left, [item]), _walk(right, [item])
        if len(ours) > 1 or len(theirs) > 1:
            raise JsonPathError("can only compare one element at a time")
        if ours and theirs:
            try:
                if compares(ours[0], theirs[0]):
                    out.append(item)
            except TypeError:
                raise JsonPathError("incompatible types for comparison") from None
    return out
