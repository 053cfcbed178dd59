"""The base of every API type: frozen, tolerant of fields it does not know, lossless in a round trip.

Go's rules for JSON hold here: an absent field has the zero value of its type, `null` means absent, and the types that
only machines write (statuses) leave zero values out when they are written, except the fields Go always writes.

The values are checked by pydantic's core, but the types are not `BaseModel`s: its `__getattr__` takes part whenever a
field is looked at, thousands of times in a pod's life, and makes it ten times as slow.
"""

from __future__ import annotations

from collections.abc import Collection, KeysView, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, dataclass_transform, get_type_hints

from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, SchemaValidator, core_schema

_ACRONYMS = {"ip": "IP", "ips": "IPs", "id": "ID", "uid": "UID", "pid": "PID", "ipc": "IPC", "cidr": "CIDR",
             "cidrs": "CIDRs", "fqdn": "FQDN", "uuid": "UUID", "os": "OS"}  # fmt: skip


# Of what is remembered about each pod, so much is kept: with less, every look-up of a node with 10,000 pods would miss.
REMEMBERED_PODS = 16_384


def json_name(field: str) -> str:
    """`pod_ip` -> `podIP`, `restart_policy` -> `restartPolicy`: the Kubernetes spelling of a Python field name."""
    first, *rest = field.split("_")
    return first + "".join(_ACRONYMS.get(part, part.capitalize()) for part in rest)


_DEFAULTS: dict[
    type, dict[str, Any]
] = {}  # of each type: its fields in their order, and the value of one that is absent


class _Shared:
    """The default of a field: one object for all that lack it."""

    def __init__(self, value: object) -> None:
        self.value = value


def shared(*, default: object) -> Any:
    """A default that is not a plain value; as nothing is ever changed in place, one object serves all."""
    return _Shared(default)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(shared,))
class Model:
    """One API type. Never changed in place: `changed(...)` gives a copy that shares everything else.

    The type checker sees to that, as for `@frozen`: a guard at run time would make each construction a fifth slower.
    """

    # Where pydantic's core puts the names of the fields that were given, and the fields that the type does not know.
    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")
    __pydantic_extra__: dict[str, Any]
    __pydantic_fields_set__: Collection[str]

    # Set by the types that only machines write (Go: `omitempty`): the fields that are written even when zero.
    always_written: ClassVar[frozenset[str] | None] = None

    def __init_subclass__(cls) -> None:
        """The class body gives each field's default, as every field has one in Go; afterwards the class has none."""
        defaults = {name: default for base in cls.__bases__ for name, default in _DEFAULTS.get(base, {}).items()}
        for name, annotation in vars(cls).get("__annotations__", {}).items():
            if not annotation.startswith("ClassVar"):
                default = vars(cls)[name]
                defaults[name] = default.value if isinstance(default, _Shared) else default
                delattr(cls, name)
        _DEFAULTS[cls] = defaults

    def __init__(self, **fields: Any) -> None:
        _validator(type(self)).validate_python(fields, self_instance=self)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        types = get_type_hints(cls)
        fields = {
            name: core_schema.model_field(
                core_schema.with_default_schema(handler.generate_schema(types[name]), **_default_for_schema(default)),
                validation_alias=json_name(name),
            )
            for name, default in _DEFAULTS[cls].items()
        }
        config = core_schema.CoreConfig(extra_fields_behavior="allow", validate_by_name=True, validate_by_alias=True)
        return core_schema.model_schema(cls, core_schema.model_fields_schema(fields), config=config)

    if TYPE_CHECKING:

        @property
        def extra(self) -> dict[str, Any]:
            """The fields that the type does not know, as they were read."""

    @classmethod
    def field_names(cls) -> KeysView[str]:
        return _DEFAULTS[cls].keys()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_json()})"

    def __eq__(self, other: Any) -> bool:
        """Equal values in all fields, known or not."""
        if self.__class__ is not other.__class__:
            return NotImplemented
        return self.__dict__ == other.__dict__ and self.__pydantic_extra__ == other.__pydantic_extra__

    # For caches of what follows from a model: each object is a key of its own, be it equal to another or not.
    __hash__ = object.__hash__

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read a JSON object. A `null` where the type has no pointer is an absent field, as for Go's decoder."""
        validator = _validator(cls)
        try:
            return validator.validate_python(value)  # type: ignore[no-any-return]
        except ValidationError as error:
            nulls = [e["loc"] for e in error.errors(include_url=False) if e["input"] is None]
            if not nulls:
                raise
            return validator.validate_python(_without(value, nulls))  # type: ignore[no-any-return]

    def to_json(self) -> dict[str, Any]:
        """The JSON object this was read from, or the one that Go would write for it."""
        always = self.always_written
        names = _json_names(type(self))
        set_fields = self.__pydantic_fields_set__
        out: dict[str, Any] = {}
        for field, value in self.__dict__.items():
            if field not in set_fields:
                continue
            if always is not None and field not in always and not value and value is not None and value != {}:
                continue
            out[names[field]] = _plain(value)
        if self.__pydantic_extra__:
            out.update(self.__pydantic_extra__)
        return out

    @classmethod
    def make(cls, /, **fields: Any) -> Self:
        """Construct from values that are known to be right: nothing is checked. For what a run makes all the time."""
        new: Any = _new(cls)
        new.__dict__ = _DEFAULTS[cls] | fields
        new.__pydantic_fields_set__ = fields  # a dict serves as the set of its keys
        new.__pydantic_extra__ = _NO_EXTRA
        return new  # type: ignore[no-any-return]

    def changed(self, /, **fields: Any) -> Self:
        """A copy with other values in some fields; nothing is validated or deep-copied."""
        copy: Any = _new(self.__class__)
        copy.__dict__ = self.__dict__ | fields
        named = self.__pydantic_fields_set__
        for name in fields:
            if name not in named:
                named = {*named, *fields}
                break
        copy.__pydantic_fields_set__ = named
        copy.__pydantic_extra__ = self.__pydantic_extra__
        return copy  # type: ignore[no-any-return]

    def with_extra(self, extra: Mapping[str, Any]) -> Self:
        """A copy with these fields beside those that the type knows."""
        copy: Any = self.changed()
        copy.__pydantic_extra__ = dict(extra)
        return copy  # type: ignore[no-any-return]


_new = object.__new__
Model.extra = Model.__dict__["__pydantic_extra__"]  # type: ignore[method-assign]  # the slot by a name for everybody
_NO_EXTRA: dict[str, Any] = {}


_VALIDATORS: dict[type[Model], SchemaValidator] = {}
_NAMES: dict[type[Model], dict[str, str]] = {}


def _validator(cls: type[Model]) -> SchemaValidator:
    validator = _VALIDATORS.get(cls)
    if validator is None:
        validator = cast(SchemaValidator, TypeAdapter(cls).validator)
        _VALIDATORS[cls] = validator
    return validator


def _json_names(cls: type[Model]) -> dict[str, str]:
    names = _NAMES.get(cls)
    if names is None:
        names = _NAMES[cls] = {name: json_name(name) for name in _DEFAULTS[cls]}
    return names


def _default_for_schema(default: object) -> dict[str, Any]:
    """What can be changed would be copied if it were given as it is; a factory in Python would cost a call each."""
    return {"default_factory": repeat(default).__next__} if isinstance(default, dict | Model) else {"default": default}


def _plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _without(value: Any, nulls: list[tuple[int | str, ...]]) -> Any:
    """A copy of a JSON value in which the nulls at these places are absent (an element of a list becomes `{}`).

    A place may go deeper than the null: then several types were tried there.
    """
    below: dict[int | str, list[tuple[int | str, ...]]] = {}
    for first, *rest in nulls:
        below.setdefault(first, []).append(tuple(rest))
    if isinstance(value, Mapping):
        return {
            key: _without(item, below[key]) if key in below else item
            for key, item in value.items()
            if item is not None or key not in below
        }
    return [({} if item is None else _without(item, below[n])) if n in below else item for n, item in enumerate(value)]
