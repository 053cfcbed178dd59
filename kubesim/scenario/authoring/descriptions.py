"""Descriptions of the fields of the language, each with an example, read from `fields.yaml` on request.

A run never reads it. A field that a type inherits is described at the type that declares it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.strict import Strict, model_of
from kubesim.values import value_object

ITSELF = "."


@value_object
class Description:
    """`text` is one or two sentences."""

    text: str
    example: Any


@cache
def table() -> dict[str, dict[str, Description]]:
    """The descriptions, by type name and field name as in JSON."""
    read = yaml.safe_load((files(__package__) / "fields.yaml").read_text(encoding="utf-8"))
    return {
        name: {field: Description(text, example) for field, (text, example) in fields.items()}
        for name, fields in read.items()
    }


def of_type(model: type[BaseModel]) -> Description:
    """The description of a type. Raises KeyError if it has none."""
    return table()[model.__name__][ITSELF]


def of_field(model: type[BaseModel], name: str, field: FieldInfo) -> Description:
    """The description of a field; `name` is its name in Python. Raises KeyError if it has none."""
    owner = next(cls for cls in model.__mro__ if name in vars(cls).get("__annotations__", {})).__name__
    written = field.alias or name
    if written not in table().get(owner, {}):
        raise KeyError(f"{owner}.{written} is not in kubesim/scenario/authoring/fields.yaml")
    return table()[owner][written]


def all_types(first: type[Strict] = Scenario) -> list[type[Strict]]:
    """A type and the types of all its fields, recursively, each once."""
    found = [first]
    for model in found:
        for field in model.model_fields.values():
            found += [each for each in dict.fromkeys(_types_in(field.annotation)) if each not in found]
    return found


def _types_in(annotation: Any) -> Iterator[type[Strict]]:
    annotation = model_of(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        yield annotation
    elif get_origin(annotation) is Annotated:
        yield from _types_in(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType, tuple, dict):
        for argument in get_args(annotation):
            if argument not in (NoneType, Ellipsis):
                yield from _types_in(argument)
