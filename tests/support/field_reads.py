"""Records which fields of API objects are read during a scenario.

Objects of declared classes are read by attribute, undeclared structs inside them by key. Operations on whole objects
(decoding, encoding, comparing, copying) are not recorded, nor are validation and defaulting, which work on JSON.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubesim.api import model
from kubesim.api.model import MODELS, Model
from kubesim.api.schema.types import Type, model_of, parse_type, struct_fields

Reads = dict[str, set[str]]  # `SecurityContext.runAsUser` -> the modules that read it

_OWN = (__name__, "kubesim.api.model")
_WHOLE = ("kubesim.api.schema", "kubesim.api.validation")
_SAME_FIELDS = {"ProbeHandler": "Probe"}


@contextmanager
def recorded_reads() -> Iterator[Reads]:
    """Records the reads inside the block."""
    reads: Reads = defaultdict(set)
    reader, read, with_extra = model._reader, model._read, Model.with_extra
    _Struct.reads = reads
    model._READERS.clear()
    model._reader, model._read = _reading(reader), _with_extra(read)
    Model.with_extra = lambda self, extra: _wrap_extra(with_extra(self, extra))  # type: ignore
    Model.__getattribute__ = _attribute  # type: ignore[assignment,method-assign]
    try:
        yield reads
    finally:
        del Model.__getattribute__
        Model.with_extra = with_extra  # type: ignore[method-assign]
        model._reader, model._read = reader, read
        model._READERS.clear()


def _note(struct: str, field: str) -> None:
    frame = sys._getframe(2)
    while frame.f_globals["__name__"] in _OWN and frame.f_back is not None:
        frame = frame.f_back
    module: str = frame.f_globals["__name__"]
    if not module.startswith(_WHOLE):
        _Struct.reads[f"{struct}.{field}"].add(module)


class _Struct(dict[str, Any]):
    """A struct without a declared class."""

    reads: Reads
    __slots__ = ("name",)

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        types = struct_fields(name)
        pairs = dict.items(fields)  # wrapping again is not a read
        super().__init__({key: _wrapped(types[key].type, item) if key in types else item for key, item in pairs})
        self.name = name

    def __getitem__(self, key: str) -> Any:
        _note(self.name, key)
        return dict.__getitem__(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        _note(self.name, key)
        return dict.get(self, key, default)

    def __contains__(self, key: object) -> bool:
        _note(self.name, str(key))
        return dict.__contains__(self, key)


def _wrapped(type_: Type, value: Any) -> Any:
    if isinstance(value, dict) and type_.kind == "struct":
        return _Struct(type_.struct, value)
    if isinstance(value, dict) and type_.kind == "map":
        return {key: _wrapped(type_.of, item) for key, item in value.items()}
    if isinstance(value, list | tuple) and type_.kind == "list":
        return type(value)(_wrapped(type_.of, item) for item in value)
    return value


def _reading(original: Any) -> Any:
    def reader(type_name: str, table: Any) -> Any:
        type_ = parse_type(type_name)
        inner = type_.of if type_.kind == "list" else type_
        if inner.kind != "struct" or inner.struct in MODELS:
            return original(type_name, table)
        return lambda value: _wrapped(type_, tuple(value) if type_.kind == "list" else value)

    return reader


def _with_extra(original: Any) -> Any:
    return lambda cls, value, table: _wrap_extra(original(cls, value, table))


def _wrap_extra(new: Model) -> Model:
    """Kinds without a declared class keep their fields in `extra`."""
    kind, extra = vars(new).get("kind", ""), vars(new).get("extra")
    if extra and model_of(kind) is None and parse_type(kind).kind == "struct":
        vars(new)["extra"] = _Struct(kind, extra)
    return new


def _attribute(self: Model, name: str) -> Any:
    cls = object.__getattribute__(self, "__class__")
    declared = cls.declared.get(name) if not name.startswith("_") else None
    if declared is not None:
        owner = [base.__name__ for base in cls.__mro__ if issubclass(base, Model) and name in base.declared][-1]
        _note(_SAME_FIELDS.get(owner, owner), declared.name)
    return object.__getattribute__(self, name)
