"""The JSON Schema accepts and rejects the same files as the loader, at the same line and path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jsonschema.exceptions import ValidationError, best_match

from kubesim.errors import InputError
from kubesim.scenario.authoring.descriptions import all_types, of_type
from kubesim.scenario.authoring.schema import field_schema, scenario_schema
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.load.manifests import field_name
from kubesim.scenario.load.yaml_source import read_documents

SCHEMA = scenario_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
SHIPPED = [
    *sorted(Path("scenarios").rglob("*.yaml")),
    *sorted(Path("labs").glob("*/scenario.yaml")),
    *sorted(Path("labs").glob("*/solved.yaml")),
    *sorted(Path("examples").rglob("*.scenario.yaml")),
]
HEAD = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: wrong}\nspec:\n"
# Errors in `spec`, one per line. A schema cannot compare two values with each other (min and max).
WRONG = Path(__file__).with_name("wrong_lines.txt").read_text().splitlines()


def test_it_is_a_draft_7_schema_with_descriptions_and_examples() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    step = SCHEMA["definitions"]["Step"]["properties"]["restart"]
    assert step["then"] == {"$ref": "#/definitions/Restart"}  # an object is the long form ...
    assert "runtime" in step["else"]["enum"]  # ... and any other value the short form
    assert (step["description"], step["examples"]) == (
        "Stop it and start it again.",
        [{"what": "runtime", "downFor": "5s"}],
    )


@pytest.mark.parametrize("path", SHIPPED, ids=str)
def test_every_shipped_file_is_valid(path: Path) -> None:
    for document in read_documents(path.read_text(), str(path)):
        VALIDATOR.validate(document.value)


@pytest.mark.parametrize("model", all_types(), ids=lambda model: model.__name__)
def test_examples_are_valid(model: Any) -> None:
    definitions = {"definitions": SCHEMA["definitions"]}
    if model.__name__ != "Scenario":  # which is in a file with its kind
        whole = {"$ref": f"#/definitions/{model.__name__}", **definitions}
        jsonschema.Draft7Validator(whole).validate(of_type(model).example)
    for name in model.model_fields:
        schema = field_schema(model, name)
        jsonschema.Draft7Validator({**schema, **definitions}).validate(schema["examples"][0])


def test_there_are_enough_invalid_files() -> None:
    assert len(WRONG) >= 280


@pytest.mark.parametrize("line", WRONG)
def test_an_invalid_file_is_rejected_where_the_loader_rejects_it(line: str) -> None:
    text = f"{HEAD}  images: [{{name: a}}]\n  {line}\n" if not line.startswith("images") else f"{HEAD}  {line}\n"
    with pytest.raises(InputError) as reported:
        parse_scenario(text, "wrong.yaml")
    [document] = read_documents(text, "wrong.yaml")
    error = best_match(VALIDATOR.iter_errors(document.value))
    assert error is not None
    path = position(error)
    assert (document.line_of(path), field_name(path)) == (reported.value.line, reported.value.field)


def position(error: ValidationError) -> tuple[str | int, ...]:
    """The position that a checker reports. For an unknown or missing field, the object's path and the field's name."""
    path = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        return (*path, next(key for key in error.instance if key not in error.schema.get("properties", {})))
    if error.validator == "required":
        return (*path, next(key for key in error.validator_value if key not in error.instance))
    return path
