"""The base of every API type: frozen, tolerant of fields it does not know, lossless in a round trip.

Go's rules for JSON hold here: an absent field has the zero value of its type, `null` means absent, and the types that
only machines write (statuses) leave zero values out when they are written, except the fields Go always writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

_ACRONYMS = {"ip": "IP", "ips": "IPs", "id": "ID", "uid": "UID", "pid": "PID", "ipc": "IPC", "cidr": "CIDR",
             "cidrs": "CIDRs", "fqdn": "FQDN", "uuid": "UUID", "os": "OS"}  # fmt: skip


def json_name(field: str) -> str:
    """`pod_ip` -> `podIP`, `restart_policy` -> `restartPolicy`: the Kubernetes spelling of a Python field name."""
    first, *rest = field.split("_")
    return first + "".join(_ACRONYMS.get(part, part.capitalize()) for part in rest)


class Model(BaseModel):
    """One API type. Never changed in place: `changed(...)` gives a copy that shares everything else."""

    model_config = ConfigDict(
        frozen=True, extra="allow", alias_generator=json_name, validate_by_name=True, validate_by_alias=True
    )

    # Set by the types that only machines write (Go: `omitempty`): the fields that are written even when zero.
    always_written: ClassVar[frozenset[str] | None] = None

    def __eq__(self, other: object) -> bool:
        """Equal values in all fields, known or not; what pydantic does, but quick where nothing changed."""
        if self is other:
            return True
        if self.__class__ is not other.__class__ or not isinstance(other, Model):
            return NotImplemented
        return self.__dict__ == other.__dict__ and self.__pydantic_extra__ == other.__pydantic_extra__

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read a JSON object. A `null` where the type has no pointer is an absent field, as for Go's decoder."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            nulls = [e["loc"] for e in error.errors(include_url=False) if e["input"] is None]
            if not nulls:
                raise
            return cls.model_validate(_without(value, nulls))

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
    def make(cls, **fields: Any) -> Self:
        """Construct from values that are known to be right: nothing is checked. For what a run makes all the time."""
        new = cls.__new__(cls)
        _set(new, "__dict__", {**_defaults(cls), **fields})
        _set(new, "__pydantic_fields_set__", set(fields))
        _set(new, "__pydantic_extra__", {})
        _set(new, "__pydantic_private__", None)
        return new

    def changed(self, **fields: Any) -> Self:
        """A copy with other values in some fields; nothing is validated or deep-copied.

        What `model_copy` does, without its care for private attributes, which our types have none of: this is the most
        frequent call of a run.
        """
        copy = self.__class__.__new__(self.__class__)
        _set(copy, "__dict__", {**self.__dict__, **fields})
        _set(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__ | fields.keys())
        _set(copy, "__pydantic_extra__", self.__pydantic_extra__)
        _set(copy, "__pydantic_private__", None)
        return copy


_set = object.__setattr__  # the types are frozen for everybody else

_NAMES: dict[type[Model], dict[str, str]] = {}


def _json_names(cls: type[Model]) -> dict[str, str]:
    names = _NAMES.get(cls)
    if names is None:
        names = _NAMES[cls] = {name: field.alias or name for name, field in cls.model_fields.items()}
    return names


_DEFAULTS: dict[type[Model], dict[str, Any]] = {}


def _defaults(cls: type[Model]) -> dict[str, Any]:
    defaults = _DEFAULTS.get(cls)
    if defaults is None:
        defaults = {name: field.get_default(call_default_factory=True) for name, field in cls.model_fields.items()}
        _DEFAULTS[cls] = defaults
    return defaults


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
