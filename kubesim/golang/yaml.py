"""YAML 1.1 to JSON conversion as in Kubernetes.

Only the first document counts, a duplicate key keeps its last value, `yes` is true, `0o17` is a number and `12:30` is
not, and a date remains text.

Mirrors: sigs.k8s.io/yaml YAMLToJSON; go.yaml.in/yaml/v2 resolve.go, decode.go
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any, NoReturn, TypeVar

import yaml

from kubesim.golang.json import Json, Number, format_float
from kubesim.golang.yaml_nodes import TooDeep, UnknownAnchor, YamlNode, documents

T = TypeVar("T")

_MAX_DEPTH = 10_000

_LONG_TAG = "tag:yaml.org,2002:"
_STR, _BOOL, _INT = _LONG_TAG + "str", _LONG_TAG + "bool", _LONG_TAG + "int"
_FLOAT, _NULL, _BINARY, _MERGE = (_LONG_TAG + name for name in ("float", "null", "binary", "merge"))
_RESOLVABLE = {"", _BOOL, _INT, _FLOAT, _NULL, _LONG_TAG + "timestamp"}

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(_TRUE, (_BOOL, True)),
    **dict.fromkeys(_FALSE, (_BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (_NULL, None)),
    **{word: (_FLOAT, float("nan")) for word in (".nan", ".NaN", ".NAN")},
    **{sign + word: (_FLOAT, float("inf")) for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{word: (_FLOAT, float("-inf")) for word in ("-.inf", "-.Inf", "-.INF")},
}
_DECIMAL_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")


class YamlError(ValueError):
    """Text that Go's YAML package rejects; the message begins with `yaml: `."""


def yaml_to_json(text: str) -> Json:
    """The first document as a JSON value; numbers in the spelling that Go's encoder gives them."""
    try:
        root = _first_document(text)
        return None if root is None else _Constructor().construct(root)
    except (TooDeep, RecursionError):  # Python's stack ends before Go's limit
        _fail(f"exceeded max depth of {_MAX_DEPTH}")


def _fail(message: str) -> NoReturn:
    raise YamlError(f"yaml: {message}")


def _first_document(text: str) -> YamlNode | None:
    try:
        # invalid UTF-8 goes to the parser unchanged, because the parser has its own error for it
        return next(documents(text.encode(errors="surrogateescape"), _MAX_DEPTH), None)
    except UnknownAnchor as error:
        _fail(f"unknown anchor '{error.anchor}' referenced")
    except yaml.reader.ReaderError as error:
        _fail(str(error.reason))
    except yaml.MarkedYAMLError as error:
        _fail(_where(error) + str(error.problem))


def _where(error: yaml.MarkedYAMLError) -> str:
    if error.problem_mark is None or not error.problem_mark.line:
        return ""
    # Go's scanner reports an error before it counts the line, and only scanner errors are corrected for that
    line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    return f"line {line}: "


class _Constructor:
    def __init__(self) -> None:
        self.decoded = 1  # the document itself
        self.through_aliases = 0
        self.open_aliases: list[YamlNode] = []

    def construct(self, node: YamlNode) -> Json:
        return self.followed(node, self.value)

    def followed(self, node: YamlNode, use: Callable[[YamlNode], T]) -> T:
        """Call `use` with the node, or with the node that an alias refers to."""
        self.decoded += 1
        self.through_aliases += bool(self.open_aliases)
        if self.decoded > 1000 and self.through_aliases > max(100.0, _allowed_through_aliases(self.decoded)):
            _fail("document contains excessive aliasing")
        if node.target is None:
            return use(node)
        if any(open_alias is node for open_alias in self.open_aliases):
            _fail(f"anchor '{node.event.anchor}' value contains itself")
        self.open_aliases.append(node)
        made = self.followed(node.target, use)
        self.open_aliases.pop()
        return made

    def value(self, node: YamlNode) -> Json:
        if node.kind == "scalar":
            return _json_scalar(_resolve_scalar(node))
        if node.kind == "sequence":
            return [self.construct(child) for child in node.children]
        out: dict[str, Json] = {}
        self.fill(node, out)
        return out

    def fill(self, node: YamlNode, out: dict[str, Json]) -> None:
        for key, value in node.pairs():
            if _is_merge(key):
                self.merge(value, out)
            else:
                name = self.followed(key, _key)
                out[name] = self.construct(value)

    def merge(self, node: YamlNode, out: dict[str, Json]) -> None:
        """`<<`: add the keys of another mapping, or of several; the first of them has precedence."""
        for part in reversed(node.children) if node.kind == "sequence" else (node,):
            if (part.target or part).kind != "mapping":
                _fail("map merge requires map or sequence of maps as the value")
            self.followed(part, lambda target: self.fill(target, out))


def _key(node: YamlNode) -> str:
    if node.kind != "scalar":
        _fail("invalid map key: " + ("map" if node.kind == "mapping" else "sequence"))
    value = _resolve_scalar(node)
    if value is None:
        raise YamlError("unsupported map key of type: %!s(<nil>), key: <nil>")
    if isinstance(value, float):
        return _float_key(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _allowed_through_aliases(decoded: int) -> float:
    """The fraction of decoded nodes that may come through aliases: nearly all of a small document, a tenth of a large
    one.
    """
    low, high = 400_000, 4_000_000
    return decoded * min(0.99, max(0.10, 0.99 - 0.89 * (decoded - low) / (high - low)))


def _is_merge(node: YamlNode) -> bool:
    event = node.event
    return node.kind == "scalar" and event.value == "<<" and bool(event.implicit[0] or event.tag == _MERGE)


def _resolve_scalar(node: YamlNode) -> Any:
    event = node.event
    text, tag = str(event.value), str(event.tag or "")
    if tag == _BINARY:
        return _binary(text)
    if tag not in _RESOLVABLE or not (tag or event.implicit[0]):
        return text
    found, value = _resolve(text)
    if tag in ("", found) or (found == _STR and tag.endswith("timestamp")):
        return value
    if tag == _FLOAT and found == _INT:
        return float(value)
    _fail(f"cannot decode {_short(found)} `{text}` as a {_short(tag)}")


def _binary(text: str) -> str:
    try:
        return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True).decode(errors="replace")
    except binascii.Error:
        _fail("!!binary value contains invalid base64 data")


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(_LONG_TAG)


def _resolve(text: str) -> tuple[str, Any]:
    """An untagged, unquoted scalar -> its tag and value."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return _STR, text
    plain = text if text[0] == "." else text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer:
        value = _integer(integer[2]) * (-1 if integer[1] == "-" else 1)
        if -(2**63) <= value < 2**63 or (value < 2**64 and not integer[1]):
            return _INT, value
    if _DECIMAL_FLOAT.fullmatch(plain) and abs(float(plain)) != float("inf"):
        return _FLOAT, float(plain)
    return _STR, text


def _integer(digits: str) -> int:
    if digits[:1] == "0" and digits.isdigit():
        return int(digits, 8)
    return int(digits, 0)


def _json_scalar(value: Any) -> Json:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    return Number(format_float(value) if isinstance(value, float) else str(value))


def _float_key(value: float) -> str:
    """The shortest text that gives the same 32-bit float; with an exponent only if it is very small or very large."""
    wanted = _float32(value)
    if not isfinite(wanted):
        return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}[str(wanted)]
    text = next(text for digits in range(9) if _float32(float(text := f"{wanted:.{digits}e}")) == wanted)
    exponent = int(text.partition("e")[2])
    return f"{Decimal(text):f}" if -4 <= exponent < 6 else text


def _float32(value: float) -> float:
    """The value rounded to a 32-bit float: infinity if it is too large."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return float(rounded)


def plain_scalar(text: str) -> Any:
    """The value of an untagged, unquoted scalar: text, a number, a boolean or null."""
    return _resolve(text)[1]
