"""The JSON Schema accepts what the loader accepts, and refuses what it refuses, at the same line and path."""

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
# What is wrong in `spec`, each in one line.
WRONG = [
    "duraton: 5s",
    "duration: 10",
    "duration: soon",
    "seed: '1'",
    "seed: 1.5",
    "runtime: docker",
    "profile: v1.99",
    "nodes: []",
    "nodes: [{name: UPPER}]",
    "nodes: [{}]",
    "nodes: [{name: a, capacity: {cpu: plenty}}]",
    "images: [{name: x, present: maybe}]",
    "images: [{name: x, stopSignal: quit}]",
    "behaviours: [{exitCode: 256}]",
    "behaviours: [{onTerm: {afterwards: 1s}}]",
    "steps: [{at: 1s, kill: {pod: web, signal: HUP}}]",
    "steps: [{at: 1s, restart: kubelets}]",
    "steps: [{at: 1s, restart: {what: kubelet, downFor: 3}}]",
    "expect: {pod: web}",
    "cni: {network: flannel}",
    "kubeletConfiguration: {maxPod: 3}",
    "kubeletConfiguration: {maxPods: many}",
    "featureGates: {EventedPLEG: 'yes'}",
    "objects: [{kind: Pod}]",
    "nodes: [{name: a, taints: [{key: x, effect: Never}]}]",
    "nodes: [{name: a, taints: [{effect: NoSchedule}]}]",
    "nodes: [{name: a, taints: [{key: x, effct: NoSchedule}]}]",
    "nodes: [{name: a, taints: [{key: 5, effect: NoSchedule}]}]",
    "steps: [{kill: {pod: web}}]",
    "steps: [{at: 1s}]",
    "steps: [{at: 1s, kill: {pod: web}, delete: {pod: web}}]",
    "steps: [{at: soon, kill: {pod: web}}]",
    "steps: [{at: 1s, when: {pod: web, exists: true}, kill: {pod: web}}]",
    "steps: [{when: {pod: web, condtion: Ready}, kill: {pod: web}}]",
    "steps: [{when: {pod: web, phase: Ready}, kill: {pod: web}}]",
    "steps: [{when: {pod: web}, kill: {pod: web}}]",
    "steps: [{at: 1s, delete: {}}]",
    "steps: [{at: 1s, scale: {object: Deployment/web, replicas: -1}}]",
    "steps: [{at: 1s, exec: {pod: web, command: ls}}]",
    "steps: [{at: 1s, cut: {for: 0s}}]",
    "steps: {at: 1s}",
    "faults: [{operation: CreateContainer}]",
    "faults: [{operation: CreateContaner, error: x}]",
    "faults: [{operation: CreateContainer, error: x, probability: 2}]",
    "faults: [{operation: CreateContainer, error: x, times: 0}]",
    "faults: [{operation: CreateContainer, error: x, hang: true}]",
    "faults: [{operation: CreateContainer, latency: fast}]",
    "faults: [{operation: CreateContainer, latency: {medan: 1s}}]",
    "faults: [{operation: CreateContainer, crash: scheduler}]",
    "faults: [{operation: CreateContainer, crash: {what: kubelet, downFor: x}}]",
    "faults: [{error: x}]",
    "expect: [{pod: web, phase: Runing}]",
    "expect: [{pod: web, phase: Running, by: 5}]",
    "expect: [{pod: web, restartCount: many}]",
    "expect: [{pod: web, never: maybe, phase: Running}]",
    "expect: [{phase: Running}]",
    "expect: [{pod: web}]",
    "expect: [{pod: web, object: Node/a, phase: Running}]",
    "expect: [{object: web, condition: Ready}]",
    "behaviours: [{exitAfter: never}]",
    "behaviours: [{exitAfter: {min: 1s}}]",
    "behaviours: [{exitAfter: {min: 1s, max: x}}]",
    "matrix: {seeds: 1-5}",
    "matrix: {seeds: [a]}",
    "invariants: {off: [one-instnce]}",
    "invariants: {off: one-instance}",
    "images: [{present: true}]",
    "images: [{name: x, pullTime: -1s}]",
    "images: [{name: x, sizes: 5}]",
    "nodes: [{name: a, capacity: {cpu: -1}}]",
    "nodes: [{name: a, labels: {x: 5}}]",
    "scheduler: maybe",
    "dependencies: [{name: db, latency: slow}]",
    "dependencies: [{}]",
    "sources: {file: {manifests: 5}}",
    "kubeletConfiguration: {evictionHard: 5}",
    "kubeletConfiguration: {maxPods: 1.5}",
    "featureGates: {NoSuchGate: true}",
    "objects: [5]",
    "objects: [{apiVersion: v1, kind: 5}]",
    "duration: -5s",
    "include: 5",
    "duration: {}",
]


def test_it_is_a_schema_of_draft_7_with_texts_and_examples() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    step = SCHEMA["definitions"]["Step"]["properties"]["restart"]
    assert step["then"] == {"$ref": "#/definitions/Restart"}  # an object is the whole form ...
    assert "runtime" in step["else"]["enum"]  # ... and any other value the short one
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
    if model.__name__ != "Scenario":  # which stands in a file with its kind
        whole = {"$ref": f"#/definitions/{model.__name__}", **definitions}
        jsonschema.Draft7Validator(whole).validate(of_type(model).example)
    for name in model.model_fields:
        schema = field_schema(model, name)
        jsonschema.Draft7Validator({**schema, **definitions}).validate(schema["examples"][0])


def test_enough_is_wrong() -> None:
    assert len(WRONG) >= 80


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_file_is_refused_where_the_loader_refuses_it(line: str) -> None:
    text = f"{HEAD}  images: [{{name: a}}]\n  {line}\n" if not line.startswith("images") else f"{HEAD}  {line}\n"
    with pytest.raises(InputError) as reported:
        parse_scenario(text, "wrong.yaml")
    [document] = read_documents(text, "wrong.yaml")
    error = best_match(VALIDATOR.iter_errors(document.value))
    assert error is not None
    path = place(error)
    assert (document.line_of(path), field_name(path)) == (reported.value.line, reported.value.field)


def place(error: ValidationError) -> tuple[str | int, ...]:
    """Where a checker points. Of a field that is unknown or missing it has the path of the object, and the name."""
    path = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        return (*path, next(key for key in error.instance if key not in error.schema.get("properties", {})))
    if error.validator == "required":
        return (*path, next(key for key in error.validator_value if key not in error.instance))
    return path
