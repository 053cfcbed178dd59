"""Decoder of JSON bytes into declared Go types, by the rules of encoding/json.

Keys match struct fields case-insensitively. A value of the wrong type is recorded and the decoding continues; the first
such error is returned. A type that decodes itself aborts the decoding with its error. A struct becomes a dict of the
given fields, by their JSON names.

Mirrors: encoding/json decode.go (object, array, literalStore, addErrorContext)
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from kubesim.golang.json import JsonSyntaxError, Number, explain, kind_of

_MAX_DEPTH = 200  # nested levels; Go allows 10,000, but each level takes several frames of Python's stack
_SURROGATE = re.compile("[\ud800-\udfff]")


class Misfit(ValueError):
    """A JSON value of the wrong Go type (json.UnmarshalTypeError)."""

    def __init__(self, found: str, type_name: str) -> None:
        super().__init__(found)
        self.found, self.type_name = found, type_name
        self.struct: str | None = None
        self.field = ""

    def __str__(self) -> str:
        where = "Go value" if self.struct is None else f"Go struct field {self.struct}.{self.field}"
        return f"json: cannot unmarshal {self.found} into {where} of type {self.type_name}"


class JsonObject(dict[str, Any]):
    """An object with duplicate keys: the last value counts, but structs decode all of them."""

    __slots__ = ("pairs",)
    pairs: list[tuple[str, Any]]


class State:
    """The state of a decoding: the current struct, the current path, and the first error."""

    __slots__ = ("path", "saved", "struct")

    def __init__(self) -> None:
        self.struct: str | None = None
        self.path: list[str] = []
        self.saved: ValueError | None = None

    def note(self, found: str, type_name: str) -> None:
        self.save(Misfit(found, type_name))

    def save(self, error: ValueError) -> None:
        if self.saved is None:
            self.saved = self.in_context(error)

    def in_context(self, error: ValueError) -> ValueError:
        if isinstance(error, Misfit) and self.struct is not None:
            error.struct = self.struct
            error.field = ".".join([*self.path, error.field] if error.field else self.path)
        return error


def unmarshal(type_: GoType, data: bytes) -> Any:
    """Decode bytes; raises a ValueError with Go's message."""
    return decode_alone(type_, parse(data))


def unmarshal_what_fits(type_: GoType, data: bytes) -> tuple[Any, ValueError | None]:
    """Decode bytes for a caller that continues after an error: returns the decoded part and the error."""
    state, out = State(), type_.zero()
    try:
        out = type_.decode(state, parse(data), out)
    except ValueError as error:
        return out, state.in_context(error)
    return out, state.saved


def decode_alone(type_: GoType, value: Any) -> Any:
    """Decode a parsed value in a context of its own, like a type that calls json.Unmarshal itself."""
    state = State()
    try:
        out = type_.decode(state, value, type_.zero())
    except ValueError as error:
        raise state.in_context(error) from None
    if state.saved is not None:
        raise state.saved
    return out


def parse(data: bytes) -> Any:
    """Parse a JSON value; numbers keep their spelling. Invalid UTF-8 becomes U+FFFD, as in Go."""
    try:
        value = _DECODER.decode(data.decode("utf-8", "go-replace"))
    except RecursionError:
        raise JsonSyntaxError("exceeded max depth") from None
    except ValueError:
        explain(data.decode("latin-1"))  # Go's scanner reads bytes, so its errors show bytes
    if data.count(b"[") + data.count(b"{") > _MAX_DEPTH and _is_too_deep(value):
        raise JsonSyntaxError("exceeded max depth")
    return value


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def _replace_each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


codecs.register_error("go-replace", _replace_each_byte)


def _reject(name: str) -> NoReturn:
    raise ValueError(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) == len(pairs):
        return out
    repeated = JsonObject(out)
    repeated.pairs = pairs
    return repeated


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_reject, object_pairs_hook=_object)


def text_of(value: str) -> str:
    """A string with unpaired surrogates replaced by U+FFFD, as Go stores it."""
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def as_number(value: Any) -> Any:
    """A Python number as a JSON `Number`; any other value unchanged."""
    return Number(json.dumps(value)) if type(value) in (int, float) else value


class GoType(ABC):
    """A Go type: its name in errors, its zero value, and how it decodes a JSON value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def zero(self) -> Any:
        return None

    @abstractmethod
    def decode(self, state: State, value: Any, old: Any) -> Any: ...

    def misfit(self, state: State, found: str, old: Any) -> Any:
        state.note(found, self.name)
        return old


class Text(GoType):
    def zero(self) -> str:
        return ""

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if is_text(value):
            return text_of(value)
        return old if value is None else self.misfit(state, kind_of(value), old)


class Bool(GoType):
    def zero(self) -> bool:
        return False

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if isinstance(value, bool):
            return value
        return old if value is None else self.misfit(state, kind_of(value), old)


class Integer(GoType):
    def __init__(self, name: str, lowest: int, highest: int) -> None:
        super().__init__(name)
        self.lowest, self.highest = lowest, highest

    def zero(self) -> int:
        return 0

    def decode(self, state: State, value: Any, old: Any) -> Any:
        value = as_number(value)
        if not isinstance(value, Number):
            return old if value is None else self.misfit(state, kind_of(value), old)
        digits = value.removeprefix("-") if self.lowest < 0 else value
        if digits.isdigit() and self.lowest <= int(value) <= self.highest:
            return int(value)
        return self.misfit(state, f"number {value}", old)


class _Anything(GoType):
    """`interface {}`: numbers become float64."""

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if isinstance(value, Number):
            number = float(value)
            if number in (float("inf"), float("-inf")):
                state.note(f"number {value}", "float64")
                return None
            return number
        if isinstance(value, str):
            return text_of(value)
        if isinstance(value, dict):
            return {text_of(key): self.decode(state, item, None) for key, item in value.items()}
        if isinstance(value, list):
            return [self.decode(state, item, None) for item in value]
        return value


class _Bytes(GoType):
    """`[]uint8`, written as base64."""

    def zero(self) -> bytes:
        return b""

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if not is_text(value):
            return b"" if value is None else self.misfit(state, kind_of(value), old)
        try:
            return base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
        except (binascii.Error, ValueError):
            state.save(ValueError(f"illegal base64 data at input byte {_first_bad_byte(value)}"))
            return old


def _first_bad_byte(text: str) -> int:
    bad = re.search(r"[^A-Za-z0-9+/\r\n]", text)
    return bad.start() if bad else len(text) - len(text) % 4


class Pointer(GoType):
    """A pointer: null is nil; any other value is decoded as the type that it points to."""

    def __init__(self, of: GoType) -> None:
        super().__init__(f"*{of.name}")
        self.of = of

    def decode(self, state: State, value: Any, old: Any) -> Any:
        return None if value is None else self.of.decode(state, value, self.of.zero() if old is None else old)


class Slice(GoType):
    def __init__(self, of: GoType) -> None:
        super().__init__(f"[]{of.name}")
        self.of = of

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if isinstance(value, list):
            return [self.of.decode(state, item, self.of.zero()) for item in value]
        return None if value is None else self.misfit(state, kind_of(value), old)


class Array(GoType):
    """An array of fixed length: extra elements are dropped, missing ones are zero."""

    def __init__(self, length: int, of: GoType) -> None:
        super().__init__(f"[{length}]{of.name}")
        self.length, self.of = length, of

    def zero(self) -> list[Any]:
        return [self.of.zero() for _ in range(self.length)]

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if isinstance(value, list):
            given = [self.of.decode(state, item, self.of.zero()) for item in value[: self.length]]
            return given + [self.of.zero() for _ in range(self.length - len(given))]
        return old if value is None else self.misfit(state, kind_of(value), old)


class Map(GoType):
    def __init__(self, of: GoType, name: str = "") -> None:
        super().__init__(name or f"map[string]{of.name}")
        self.of = of

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if isinstance(value, dict):
            given = {text_of(key): self.of.decode(state, item, self.of.zero()) for key, item in value.items()}
            return {**old, **given} if old else given
        return None if value is None else self.misfit(state, kind_of(value), old)


class Struct(GoType):
    """`fields`: JSON name -> type. `short` is the name without its package, as it appears in errors about a field."""

    def __init__(self, name: str, fields: Mapping[str, GoType], *, short: str | None = None) -> None:
        super().__init__(name)
        self.short = name.rpartition(".")[2] if short is None else short
        self.fields = dict(fields)
        self._folded = {_fold(key): key for key in fields}

    def zero(self) -> dict[str, Any]:
        return {}

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if not isinstance(value, dict):
            return old if value is None else self.misfit(state, kind_of(value), old)
        out: dict[str, Any] = dict(old)
        outer, depth = state.struct, len(state.path)
        for key, item in value.pairs if isinstance(value, JsonObject) else value.items():
            name = key if key in self.fields else self._folded.get(_fold(key))
            if name is None:
                continue
            field = self.fields[name]
            state.struct = self.short
            state.path.append(name)
            out[name] = field.decode(state, item, out[name] if name in out else field.zero())
            # after an error the context stays, because the error names the struct and path
            state.struct = outer
            del state.path[depth:]
        return out


def _fold(key: str) -> str:
    return key.lower().replace("\u017f", "s")


class Own(GoType):
    """A type with its own UnmarshalJSON: `inner` decodes it in a context of its own, then `build` converts the
    result."""

    def __init__(self, name: str, inner: GoType, build: Callable[[Any], Any], zero: Callable[[], Any]) -> None:
        super().__init__(name)
        self.inner, self.build, self._zero = inner, build, zero

    def zero(self) -> Any:
        return self._zero()

    def decode(self, state: State, value: Any, old: Any) -> Any:
        return self.build(decode_alone(self.inner, value))


class FromText(GoType):
    """A type with UnmarshalText: `build` converts a string; null is the zero value."""

    def __init__(self, name: str, build: Callable[[str], Any]) -> None:
        super().__init__(name)
        self.build = build

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if is_text(value):
            return self.build(text_of(value))
        return None if value is None else self.misfit(state, kind_of(value), old)


STRING: Final = Text("string")
BOOL: Final = Bool("bool")
INT: Final = Integer("int", -(2**63), 2**63 - 1)
UINT: Final = Integer("uint", 0, 2**64 - 1)
BYTES: Final = _Bytes("[]uint8")
ANYTHING: Final = _Anything("interface {}")
OBJECT: Final = Map(ANYTHING)
