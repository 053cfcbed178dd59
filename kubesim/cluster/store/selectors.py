"""Label and field selectors: parsing with the API's error messages, and matching.

Mirrors: apimachinery/pkg/labels selector.go Parse, Requirement.Matches; pkg/fields selector.go ParseSelector
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubesim.api.validation import formats
from kubesim.api.validation.field import FieldError
from kubesim.values import value_object

_SPECIAL = "=!(),><"
_SYMBOLS = {")", ",", "!", "==", "=", ">", "<", "!=", "("}
_OPERATORS = {"in": "in", "notin": "notin", "=": "=", "==": "=", "!=": "!=", ">": "gt", "<": "lt"}
_BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_END = ("end", "")


class SelectorError(ValueError):
    """A selector that cannot be parsed."""


@value_object
class Requirement:
    """A condition on one label."""

    key: str
    operator: str  # exists, !, in, notin, =, !=, gt, lt
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in" | "=":
                return value is not None and value in self.values
            case "notin" | "!=":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        if not _INTEGER.fullmatch(value):
            return False
        (bound,) = self.values
        return int(value) > int(bound) if self.operator == "gt" else int(value) < int(bound)


@value_object
class LabelSelector:
    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        for requirement in self.requirements:  # noqa: SIM110  # half the time of `all`
            if not requirement.matches(labels):
                return False
        return True


_NOTHING = LabelSelector((Requirement("", "in"),))
_REQUIREMENTS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def selector_from(selector: Mapping[str, Any] | None) -> LabelSelector:
    """The selector of a LabelSelector object: None selects nothing, an empty one everything.

    Mirrors: apimachinery/pkg/apis/meta/v1 helpers.go LabelSelectorAsSelector
    """
    if selector is None:
        return _NOTHING
    equal = [Requirement(key, "=", frozenset((value,))) for key, value in (selector.get("matchLabels") or {}).items()]
    others = [
        Requirement(term.get("key", ""), _REQUIREMENTS[term.get("operator", "")], frozenset(term.get("values") or ()))
        for term in selector.get("matchExpressions") or ()
    ]
    return LabelSelector((*equal, *others))


def parse_label_selector(text: str) -> LabelSelector:
    return LabelSelector(tuple(_LabelParser(text).parse()))


class _LabelParser:
    """A token is (kind, text); kinds are `identifier`, `in`, `notin`, `end` and the symbols."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0

    def peek(self, words_are_values: bool = True) -> tuple[str, str]:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else _END
        return ("identifier" if words_are_values and kind in ("in", "notin") else kind), text

    def take(self, words_are_values: bool = True) -> tuple[str, str]:
        token = self.peek(words_are_values)
        self.at += 1
        return token

    def parse(self) -> Iterable[Requirement]:
        while True:
            kind, text = self.peek()
            if kind == "end":
                return
            if kind not in ("identifier", "!"):
                raise SelectorError(f"found '{text}', expected: !, identifier, or 'end of string'")
            try:
                yield self.requirement()
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            kind, text = self.take()
            if kind == "end":
                return
            if kind != ",":
                raise SelectorError(f"found '{text}', expected: ',' or 'end of string'")
            kind, text = self.peek()
            if kind not in ("identifier", "!"):
                raise SelectorError(f"found '{text}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        kind, key = self.take()
        absent = kind == "!"
        if absent:
            kind, key = self.take()
        if kind != "identifier":
            raise SelectorError(f"found '{key}', expected: identifier")
        _check("<nil>", key, formats.label_key(key))
        if absent or self.peek()[0] in ("end", ","):
            return Requirement(key, "!" if absent else "exists")
        kind, text = self.take(words_are_values=False)
        if kind not in _OPERATORS:
            raise SelectorError(f"found '{text}', expected: {_BINARY_OPERATORS}")
        operator = _OPERATORS[kind]
        values = self.values() if operator in ("in", "notin") else {self.exact_value()}
        for n, value in enumerate(sorted(values)):
            if operator in ("gt", "lt") and not _INTEGER.fullmatch(value):
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                raise SelectorError(str(FieldError("Invalid value", f"values[{n}]", value, detail)))
            _check(f"values[{n}][{key}]", value, formats.label_value(value))
        return Requirement(key, operator, frozenset(values))

    def exact_value(self) -> str:
        if self.peek()[0] in ("end", ","):
            return ""
        kind, text = self.take()
        if kind != "identifier":
            raise SelectorError(f"found '{text}', expected: identifier")
        return text

    def values(self) -> set[str]:
        kind, text = self.take()
        if kind != "(":
            raise SelectorError(f"found '{text}' expected: '('")
        kind, text = self.peek()
        if kind == ")":
            self.take()
            return set()
        if kind not in ("identifier", ","):
            raise SelectorError(f"found '{text}', expected: ',', ')' or identifier")
        values = self.identifiers()
        self.take()
        return values

    def identifiers(self) -> set[str]:
        """The values up to the closing parenthesis; `(,`, `,,` and `,)` contain an empty value."""
        values: set[str] = set()
        while True:
            kind, text = self.take()
            if kind == "identifier":
                values.add(text)
                following, text = self.peek()
                if following == ")":
                    return values
                if following != ",":
                    raise SelectorError(f"found '{text}', expected: ',' or ')'")
            elif kind == ",":
                if not values:
                    values.add("")
                following, _ = self.peek()
                if following == ")":
                    return values | {""}
                if following == ",":
                    self.take()
                    values.add("")
            else:
                raise SelectorError(f"found '{text}', expected: ',', or identifier")


def _check(path: str, value: str, complaints: Iterable[str]) -> None:
    errors = [str(FieldError("Invalid value", path, value, complaint)) for complaint in complaints]
    if errors:
        raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def _tokens(text: str) -> Iterable[tuple[str, str]]:
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        if text[at] in _SPECIAL:
            at += 2 if text[at : at + 2] in _SYMBOLS else 1
            yield text[start:at], text[start:at]
            continue
        while at < len(text) and text[at] not in _SPECIAL and not text[at].isspace():
            at += 1
        word = text[start:at]
        yield (word if word in ("in", "notin") else "identifier"), word


@value_object
class FieldTerm:
    field: str
    value: str
    equal: bool


@value_object
class FieldSelector:
    terms: tuple[FieldTerm, ...] = ()

    def matches(self, value_of: Callable[[str], str]) -> bool:
        """Whether the field selector matches; `value_of` returns the value of a field."""
        return all((value_of(term.field) == term.value) == term.equal for term in self.terms)


def parse_field_selector(text: str) -> FieldSelector:
    terms = []
    for part in sorted(_split_terms(text)):
        if not part:
            continue
        found = re.match(r"(.*?)(!=|==|=)(.*)", part, re.DOTALL)
        if found is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        field, operator, value = found.groups()
        terms.append(FieldTerm(field, _unescape(value), operator != "!="))
    return FieldSelector(tuple(terms))


def _split_terms(text: str) -> list[str]:
    """Split at unescaped commas."""
    return re.findall(r"(?:[^,\\]|\\.|\\$)+", text, re.DOTALL)


def _unescape(value: str) -> str:
    out, escaped = [], False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(out)
