"""Strict models of the scenario language: no unknown fields, no implicit conversions; and the short forms of fields."""

from __future__ import annotations

import difflib
import re
from functools import partial
from importlib import import_module
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import with_info_plain_validator_function

from kubesim.api.quantity import quantity

_TAINT_FIELDS = ("key", "value", "effect", "timeAdded")
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Strict(BaseModel):
    """Fields are spelled in camel case; an unknown field is an error that suggests the nearest known one."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, validate_by_name=False, strict=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _only_known_fields(cls, value: Any) -> Any:
        if isinstance(value, BaseModel):
            return value
        if not isinstance(value, dict):
            raise PydanticCustomError("not_an_object", "must be a mapping of fields")
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in value:
            if key not in known:
                raise _unknown(key, known)
        return value


class Located(Strict):
    """An item whose position in the file is reported with failures. The loader sets it."""

    _file: str = PrivateAttr(default="")
    _line: int = PrivateAttr(default=0)

    @property
    def location(self) -> tuple[str, int]:
        """The file and the line; line 0 if the item is in no file."""
        return self._file, self._line

    def put(self, file: str, line: int) -> None:
        self._file, self._line = file, line


def _unknown(key: str, known: list[str]) -> PydanticCustomError:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return PydanticCustomError("unknown_field", "unknown field; {hint}", {"field": key, "hint": hint})


INSIDE = "inside"  # the type of an error about a nested field, whose path is in its context


def problem_at(path: tuple[str | int, ...], text: str) -> PydanticCustomError:
    """A validation error about a field inside the model."""
    return PydanticCustomError(INSIDE, "{problem}", {"problem": text, "path": path})


NO_NODE = "no_node"  # the type of an error about an unknown node name; its context also has the path


def no_node(path: tuple[str | int, ...], name: str) -> PydanticCustomError:
    return PydanticCustomError(NO_NODE, "there is no node {name}", {"name": name, "path": path})


class _StandIn:
    """A placeholder for a type of another module, for annotations."""

    module: str


def stand_in(qualified_name: str) -> Any:
    """A placeholder for OnUse: `module.Name` is imported when its first value is parsed, which saves 8 % of a short
    run."""
    module, _, name = qualified_name.rpartition(".")
    return type(name, (_StandIn,), {"module": f"{__package__}.{module}"})


def model_of(part: Any) -> Any:
    """The type behind a placeholder; any other type itself."""
    is_stand_in = isinstance(part, type) and issubclass(part, _StandIn)
    return getattr(import_module(part.module), part.__name__) if is_stand_in else part


class _OnUse:
    """Builds the schema of a type when its first value is parsed, which saves 5 % of a short run."""

    def __get_pydantic_core_schema__(self, part: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: Any, info: ValidationInfo) -> Any:
            return model_of(part).model_validate(value, context=info.context)

        return with_info_plain_validator_function(read)


T = TypeVar("T")
OnUse = Annotated[T, _OnUse()]  # for parts of the language that most files do not use


def defaults(**fields: Any) -> Any:
    """The default of a field that is an object. It is parsed with the model: a separate schema would slow the start."""
    return Field(default_factory=lambda: fields, validate_default=True)


def as_list(value: Any) -> Any:
    """A list as a tuple: YAML has lists, frozen models have tuples."""
    return tuple(value) if isinstance(value, list) else value


def wrap(key: str) -> BeforeValidator:
    """A short form: a plain value stands for an object with only this field."""
    return BeforeValidator(partial(unfold, key))


def unfold(key: str, value: Any) -> Any:
    return value if isinstance(value, dict | BaseModel) else {key: value}


def is_amount(value: str | int | float) -> str | int | float:
    """Check that the value is a Kubernetes quantity, such as 100Mi."""
    try:
        quantity(value)
    except ValueError as error:
        raise PydanticCustomError("amount", "{problem}", {"problem": str(error)}) from None
    return value


def is_capacity(value: str | int | float) -> str | int | float:
    if quantity(is_amount(value)).sign < 0:
        raise PydanticCustomError("amount", "must not be negative")
    return value


def has_whole_counts(capacity: dict[str, str | int | float]) -> dict[str, str | int | float]:
    """Check that countable resources (pods, extended resources) have whole numbers."""
    for name, amount in capacity.items():
        if name not in ("cpu", "memory", "ephemeral-storage"):
            from kubesim.api.validation.containers.resources import is_integer_resource_name

            if is_integer_resource_name(name) and quantity(amount).milli_value() % 1000:
                raise PydanticCustomError("amount", "{name}: must be a whole number", {"name": name})
    return capacity


def is_taint(value: dict[str, Any]) -> dict[str, Any]:
    for key in value:
        if key not in _TAINT_FIELDS:
            raise _unknown(key, list(_TAINT_FIELDS))
    if not value.get("key") or not isinstance(value["key"], str):
        raise problem_at(("key",), "a taint needs a key")
    if value.get("effect") not in _TAINT_EFFECTS:
        expected = f"{', '.join(_TAINT_EFFECTS[:-1])} or {_TAINT_EFFECTS[-1]}"
        raise problem_at(("effect",), f"the effect of a taint must be {expected}")
    return value


def is_amount_or_percentage(value: str | int | float) -> str | int | float:
    if isinstance(value, str) and value.endswith("%"):
        if not re.fullmatch(r"\d+(\.\d+)?", value[:-1]) or float(value[:-1]) > 100:
            raise PydanticCustomError("amount", "must be a percentage between 0% and 100%")
        return value
    return is_amount(value)


Texts = Annotated[tuple[str, ...], BeforeValidator(as_list)]
Amount = Annotated[str | int | float, AfterValidator(is_amount)]
