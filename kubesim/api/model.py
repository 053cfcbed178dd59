"""The base class of API types with attributes, and the declaration of their fields.

A class line declares a field once: its name (the JSON name follows from it), its Python type for the type checker, and
in `go(...)` its Go type, whether it is written when empty, and how a strategic merge patch merges it. Reading, writing,
decoding with Go's errors (`schema.codec`), merge keys and unknown-field checks are derived from that line.

An absent field has the zero value of its Go type, and `null` means absent. An object stores only the fields that were
set; the zero values are attributes of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, dataclass_transform

_ACRONYMS = {"ip": "IP", "ips": "IPs", "id": "ID", "uid": "UID", "pid": "PID", "ipc": "IPC", "cidr": "CIDR",
             "cidrs": "CIDRs", "fqdn": "FQDN", "uuid": "UUID", "os": "OS"}  # fmt: skip
_ZEROS = {"bool": False, "int32": 0, "int64": 0, "IntOrString": 0, "Time": None, "MicroTime": None}

# Size of the per-pod caches. Smaller than the number of pods means a hit rate of zero.
REMEMBERED_PODS = 16_384

EMPTY: dict[str, Any] = {}  # the zero value of every map: maps are never changed in place, so all share one object


def json_name(field: str) -> str:
    """The JSON name of a Python field name: `pod_ip` -> `podIP`, `restart_policy` -> `restartPolicy`."""
    first, *rest = field.split("_")
    return first + "".join(_ACRONYMS.get(part, part.capitalize()) for part in rest)


class Declared(NamedTuple):
    """The declaration of one field. `merge`: the merge key of a list's elements, "" for a set."""

    type: str
    omit_empty: bool
    merge: str | None
    nullable: bool
    name: str = ""
    embedded_in: str = ""


def go(type_name: str, *, always: bool = False, merge: str | None = None) -> Any:
    """Declare a field by its Go type. `always`: the field has no omitempty."""
    return Declared(type_name, not always, merge, type_name.startswith("*") or type_name in ("Time", "MicroTime"))


MODELS: dict[str, type[Model]] = {}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Model:
    """An API type. Assignment is an error: `changed(...)` returns a copy that shares all other values."""

    # The fields by their Python names in the order of Go's declaration, and the name of the field that embeds the type.
    declared: ClassVar[dict[str, Declared]] = {}
    embedded_as: ClassVar[str] = ""
    zeros: ClassVar[dict[str, Any]] = {}
    # The undeclared fields, as they were read.
    extra: ClassVar[dict[str, Any]] = EMPTY

    def __init_subclass__(cls, *, embedded_as: str = "") -> None:
        """Replace each declaration by the zero value of its field."""
        base = cls.__base__
        assert base is not None
        assert issubclass(base, Model)
        cls.declared, cls.zeros = dict(base.declared), {**base.zeros, "extra": EMPTY}
        if base.embedded_as:
            cls.declared = {name: field._replace(embedded_in=base.embedded_as) for name, field in base.declared.items()}
        cls.embedded_as = embedded_as
        annotations = get_annotations(cls)
        for name, field in list(vars(cls).items()):
            if isinstance(field, Declared):
                cls.declared[name] = field._replace(name=json_name(name))
                cls.zeros[name] = _zero(field.type, annotations[name])
                setattr(cls, name, cls.zeros[name])
        MODELS[cls.__name__] = cls

    def __init__(self, **fields: Any) -> None:
        """Set the fields; only the type checker checks their values."""
        _set_fields(self, fields)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} cannot be changed: use changed({name}=...)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_json()})"

    def __eq__(self, other: Any) -> bool:
        """Whether all fields are equal, declared or not. An absent field equals a zero value."""
        if self.__class__ is not other.__class__:
            return NotImplemented
        own, theirs = self.__dict__, other.__dict__
        if own == theirs:
            return True
        return own.keys() != theirs.keys() and self.zeros | own == self.zeros | theirs

    __hash__ = None  # type: ignore[assignment]  # equal objects may hold unhashable values

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read a JSON object that was decoded, or whose writer is trusted to use correct scalar types.

        If a value is not an object or list as it should be, the error is the decoder's (`schema.codec.DecodeError`).
        """
        try:
            return _read(cls, value, _READERS)  # type: ignore[return-value]
        except (AttributeError, TypeError):
            from kubesim.api.schema.codec import decode

            decode(cls.__name__, value)
            raise

    @classmethod
    def from_foreign_json(cls, value: Mapping[str, Any]) -> Self:
        """Read a JSON object from an untrusted writer: scalars are checked, too. Raises DecodeError."""
        try:
            return _read(cls, value, _CHECKING)  # type: ignore[return-value]
        except (AttributeError, TypeError, ValueError):
            from kubesim.api.schema.codec import decode

            return cls.from_json(decode(cls.__name__, value))

    def to_json(self) -> dict[str, Any]:
        """The fields that were set, in Go's format: an empty field with omitempty is left out."""
        given, out = self.__dict__, {}
        for name, field in self.declared.items():
            if name not in given:
                continue
            value = given[name]
            if value or field.nullable or not field.omit_empty:
                out[field.name] = value if value.__class__ in _SCALARS else _plain(value)
        if self.extra:
            out.update(self.extra)
        return out

    def changed(self, /, **fields: Any) -> Self:
        """A copy with some fields changed; nothing is deep-copied."""
        copy = _new(self.__class__)
        _set_fields(copy, self.__dict__ | fields)
        return copy

    def with_extra(self, extra: Mapping[str, Any]) -> Self:
        """A copy with these undeclared fields."""
        return self.changed(extra=dict(extra))


_new = object.__new__
_set_fields: Callable[[Model, dict[str, Any]], None] = vars(Model)["__dict__"].__set__
_SCALARS = frozenset((str, int, bool, float, type(None)))

_Reader = Callable[[Any], Any]
# The fields of each type by JSON name: the Python name, whether it is nullable, and the reader unless it is a scalar.
_Readers = dict[str, tuple[str, bool, _Reader | None]]
_Table = dict["type[Model]", _Readers]
_READERS: _Table = {}
_CHECKING: _Table = {}  # the same, with readers that check scalars


def _zero(type_name: str, annotation: str) -> Any:
    if type_name.startswith("*"):
        return None
    if type_name.startswith("[]"):
        return ()
    if type_name in MODELS:
        return MODELS[type_name]()
    if annotation.startswith("dict[") or type_name == "ResourceList":  # a map, or a struct without a class
        return EMPTY
    return _ZEROS.get(type_name, "")


def _read(cls: type[Model], value: Mapping[str, Any], table: _Table) -> Model:
    readers = table.get(cls) or _readers(cls, table)
    fields: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, item in value.items():
        found = readers.get(key)
        if found is None:
            extra[key] = item
            continue
        name, nullable, read = found
        if item is None:
            if nullable:
                fields[name] = None
        else:
            fields[name] = item if read is None else read(item)
    if extra:
        fields["extra"] = extra
    new = _new(cls)
    _set_fields(new, fields)
    return new


def _readers(cls: type[Model], table: _Table) -> _Readers:
    made = {field.name: (name, field.nullable, _reader(field.type, table)) for name, field in cls.declared.items()}
    return table.setdefault(cls, made)


def _reader(type_name: str, table: _Table) -> _Reader | None:
    model, element = MODELS.get(type_name.lstrip("*")), MODELS.get(type_name.removeprefix("[]"))
    if model is not None:
        return lambda value: _read(model, value, table)
    if type_name.startswith("[]") and element is not None:
        return lambda items: tuple([_read(element, item or EMPTY, table) for item in items])
    if table is _CHECKING:
        from kubesim.api.schema.checks import check_of

        return check_of(type_name)
    if type_name == "ResourceList" or type_name.startswith("map["):
        return _read_map
    return tuple if type_name.startswith("[]") else None


def _read_map(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None} if None in value.values() else value


def _plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
