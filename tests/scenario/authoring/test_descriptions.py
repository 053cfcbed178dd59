"""Every field of the language has a description and a valid example, and all descriptions belong to fields."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from kubesim.scenario.authoring.descriptions import ITSELF, all_types, of_field, of_type, table
from kubesim.scenario.language.document import Scenario, Spec

FIELDS = [(model, name, field) for model in all_types() for name, field in model.model_fields.items()]


def test_all_types_of_the_language_are_found() -> None:
    names = {model.__name__ for model in all_types()}
    assert {"Scenario", "Spec", "NodeItem", "Step", "Expect", "DraDeviceItem", "DurationDraw"} <= names


def test_every_field_has_a_description() -> None:
    missing = []
    for model in all_types():
        for what in (lambda model=model: of_type(model), *_fields(model)):
            try:
                assert what().text.endswith((".", "`."))
            except KeyError as error:
                missing.append((model.__name__, str(error)))
    assert not missing, "add them to kubesim/scenario/authoring/fields.yaml"


def _fields(model: type[BaseModel]) -> list[Any]:
    return [lambda name=name, field=field: of_field(model, name, field) for name, field in model.model_fields.items()]


def test_every_description_has_a_field() -> None:
    known: dict[str, set[str]] = {}
    for model in all_types():
        for cls in model.__mro__:
            own = {
                field.alias or name
                for name, field in model.model_fields.items()
                if name in vars(cls).get("__annotations__", {})
            }
            known.setdefault(cls.__name__, {ITSELF}).update(own)
    unknown = [
        f"{name}.{field}" for name, fields in table().items() for field in fields if field not in known.get(name, ())
    ]
    assert unknown == []


@pytest.mark.parametrize("model", all_types(), ids=lambda model: model.__name__)
def test_the_example_of_a_type_is_accepted(model: type[BaseModel]) -> None:
    model.model_validate(of_type(model).example)


@pytest.mark.parametrize(
    ("model", "name", "field"),
    FIELDS,
    ids=lambda value: getattr(value, "__name__", None) or (value if isinstance(value, str) else ""),
)
def test_the_example_of_a_field_is_accepted(model: type[BaseModel], name: str, field: FieldInfo) -> None:
    example = of_field(model, name, field).example
    annotation: Any = field.annotation
    for item in field.metadata:
        annotation = Annotated[annotation, item]
    TypeAdapter(annotation).validate_python(example)


def test_a_whole_scenario_can_be_built_from_examples() -> None:
    spec = {
        field.alias: of_field(Spec, name, field).example
        for name, field in Spec.model_fields.items()
        if name in ("duration", "seed", "expect")
    }
    assert Scenario.model_validate({"metadata": {"name": "a"}, "spec": spec}).spec.seed == 7
