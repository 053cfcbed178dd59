"""The JSON Schema (draft 7) of scenario files, for editors and other checkers, made from the types of the language.

The types define what is valid, `fields.yaml` describes it. A short form is one more alternative (`anyOf`). Rules that
only the loader can check (names of nodes, quantities, the rules of Kubernetes objects) are not in the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from kubesim.features import known_gates
from kubesim.features.releases import RELEASES
from kubesim.kubeletconfig.fields import struct_fields
from kubesim.kubeletconfig.table import KIND, STRUCTS
from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME
from kubesim.scenario.authoring.choices import choices, not_as_short_form
from kubesim.scenario.authoring.descriptions import all_types, of_field, of_type
from kubesim.scenario.language import strict
from kubesim.scenario.language.document import Scenario, known_runtime, on_or_off
from kubesim.scenario.language.durations import is_not_zero, read_duration, read_signed_duration
from kubesim.scenario.language.nodes.device_items import is_extended_resource
from kubesim.scenario.language.nodes.machine_items import is_sandbox_step
from kubesim.scenario.language.nodes.node_items import is_absolute
from kubesim.scenario.language.object_names import is_object_name
from kubesim.scenario.language.operations.names import known_operation, operation_names
from kubesim.scenario.language.sources.remote_source_items import one_or_several
from kubesim.scenario.language.variation.matrix_items import Matrix, is_value_path, read_seeds
from kubesim.scenario.load.kubelet_configuration import JITTER, KubeletConfiguration
from kubesim.scenario.runtimes.finding import runtime_names

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
_NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_UNIT = "(ns|us|µs|μs|ms|s|m|h)"
_DURATION = rf"(0|({_NUMBER}{_UNIT})+)$"
_QUANTITY = rf"{_NUMBER}([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE])?"
_TAINT: Schema = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "minLength": 1},
        "value": {"type": "string"},
        "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
        "timeAdded": {"type": "string"},
    },
    "additionalProperties": False,
    "required": ["key", "effect"],
}
_ABSOLUTE = r"^(/(?!\.{1,2}(/|$))[^/]+)+$"
_GATES = sorted({name for profile in RELEASES for name in known_gates(profile)})
_OBJECT = "KubernetesObject"
_DEFINED: Schema = {
    _OBJECT: {
        "type": "object",
        "description": "Any object that an API server accepts; the loader checks it.",
        "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}},
        "required": ["apiVersion", "kind"],
    }
}
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Any: {},
}
_CONSTRAINTS = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "max_length": "maxLength", "pattern": "pattern",
}  # fmt: skip
# The input that a field's validator accepts, where it differs from the field's type.
_READERS: Mapping[Callable[..., Any], Callable[[Schema], Schema]] = {
    read_duration: lambda own: _text_or({"const": 0}, f"^[+]?{_DURATION}"),
    read_signed_duration: lambda own: _text_or({"const": 0}, f"^[+-]?{_DURATION}"),
    read_seeds: lambda own: {
        "if": {"type": "string"},
        "then": {"pattern": "^[0-9]+\\.\\.[0-9]+$"},
        "else": _different(own),
    },
    is_absolute: lambda own: {**own, "pattern": _ABSOLUTE},
    is_value_path: lambda own: {**own, "pattern": "^(spec[.]|[A-Za-z.]+/[^ ]+ +)[^ ]+$"},
    is_sandbox_step: lambda own: {"enum": list(BY_NAME)},
    is_extended_resource: lambda own: {**own, "pattern": "^[^/]+/[^/]+$"},
    on_or_off: lambda own: {"enum": [*own["enum"], True, False]},
    one_or_several: lambda own: {"anyOf": [own, {"type": "string"}]},
    is_object_name: lambda own: {**own, "pattern": "^[^/]+(/[^/]+){1,2}$"},
    strict.is_amount: lambda own: _text_or({"type": "number"}, f"^[+-]?{_QUANTITY}$"),
    strict.is_capacity: lambda own: _text_or({"type": "number", "minimum": 0}, f"^[+]?{_QUANTITY}$"),
    strict.is_amount_or_percentage: lambda own: _text_or(
        {"type": "number"}, rf"^([+-]?{_QUANTITY}|(100(\.0+)?|[0-9]{{1,2}}(\.[0-9]+)?)%)$"
    ),
    strict.is_taint: lambda own: _TAINT,
    known_runtime: lambda own: {"enum": list(runtime_names())},  # of this machine
    known_operation: lambda own: {"anyOf": [{"enum": ["", *operation_names()]}, {"pattern": "[*?[]"}]},
}
# Fields whose values are complete Kubernetes objects.
_REFERENCE = {"$ref": f"#/definitions/{_OBJECT}"}
_OBJECTS: Mapping[tuple[str, str], Schema] = {
    ("Spec", "objects"): {"type": "array", "items": _REFERENCE},
    ("Step", "apply"): _REFERENCE,
    ("Spec", "featureGates"): {
        "type": "object",
        "propertyNames": {"enum": _GATES},
        "additionalProperties": {"type": "boolean"},
    },
}


def scenario_schema() -> Schema:
    """The schema of every document of a file: a scenario, or a Kubernetes object."""
    definitions = {model.__name__: _model(model) for model in all_types()}
    scenario = {"required": ["kind"], "properties": {"kind": {"const": "Scenario"}}}
    ours = {"required": ["apiVersion"], "properties": {"apiVersion": {"pattern": "^kubesim\\.dev/"}}}
    return {
        "$schema": DRAFT,
        "title": "kubesim scenario",
        "description": "A document of a scenario file: a Scenario, or a Kubernetes object that is applied at time 0.",
        "type": "object",
        "if": {"anyOf": [scenario, ours]},
        "then": {"$ref": "#/definitions/Scenario"},
        "else": _REFERENCE,
        "definitions": {**definitions, **_DEFINED},
    }


def field_schema(model: type[BaseModel], name: str) -> Schema:
    """The schema of one field, by its name in Python, with its description and example."""
    field = model.model_fields[name]
    described = of_field(model, name, field)
    own = _OBJECTS.get((model.__name__, field.alias or name)) or _with(_of(field.annotation), field.metadata)
    if model is Matrix:
        own = _different(own)
    if "$ref" in own:  # draft 7 ignores the siblings of a reference
        own = {"allOf": [own]}
    return {**own, "description": described.text, "examples": [described.example]}


def _different(own: Schema) -> Schema:
    """The schema with every list non-empty and its items unique."""
    if own.get("type") == "array":
        return {**own, "minItems": 1, "uniqueItems": True}
    if "patternProperties" in own:
        return {**own, "patternProperties": {name: _different(each) for name, each in own["patternProperties"].items()}}
    return own


def _model(model: type[BaseModel]) -> Schema:
    described = of_type(model)
    needed = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    schema: Schema = {
        "type": "object",
        "description": described.text,
        "examples": [described.example],
        "properties": {field.alias or name: field_schema(model, name) for name, field in model.model_fields.items()},
        "additionalProperties": False,
    }
    if model is Scenario:
        needed += ["apiVersion", "kind"]
    if needed:
        schema["required"] = needed
    return schema | choices(model)


def _text_or(other: Schema, pattern: str) -> Schema:
    """The schema of a text with this pattern, or a number. A mistake is reported once, not for each alternative."""
    return {"if": {"type": "number"}, "then": other, "else": {"type": "string", "pattern": pattern}}


def _of(annotation: Any) -> Schema:
    annotation = strict.model_of(annotation)
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _with(_of(arguments[0]), arguments[1:])
    if origin in (Union, UnionType):
        return _any_of([_of(argument) for argument in arguments if argument is not NoneType])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        fixed = {} if arguments[-1] is Ellipsis else {"minItems": len(arguments), "maxItems": len(arguments)}
        return {"type": "array", "items": _of(arguments[0]), **fixed}
    if origin is dict:
        names = _of(arguments[0])
        if "pattern" in names:
            return {
                "type": "object",
                "patternProperties": {names["pattern"]: _of(arguments[1])},
                "additionalProperties": False,
            }
        return {"type": "object", "additionalProperties": _of(arguments[1])}
    if annotation is KubeletConfiguration:
        return _configuration(KIND, {JITTER: {"type": "boolean"}})
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {"$ref": f"#/definitions/{annotation.__name__}"}
    raise TypeError(f"no schema for {annotation}")


def _any_of(schemas: list[Schema]) -> Schema:
    different = [each for number, each in enumerate(schemas) if each not in schemas[:number]]
    return different[0] if len(different) == 1 else {"anyOf": different}


def _with(own: Schema, metadata: Any) -> Schema:
    """The schema of an annotated type: with its limits, and the functions that parse or check a value."""
    for read in filter(None, (getattr(item, "func", None) for item in metadata)):
        if isinstance(read, partial) and read.func is strict.unfold:
            own = _short_form(own, read.args[0])
        elif read in _READERS:
            own = _READERS[read](own)
    for item in metadata:
        for limit in item.metadata if isinstance(item, FieldInfo) else (item,):
            own = own | _limits(limit, own)
    return own


def _short_form(own: Schema, key: str) -> Schema:
    """The alternative for a plain value that stands for an object with this one field."""
    name = own["$ref"].rpartition("/")[2]
    model = next(model for model in all_types() if model.__name__ == name)
    field = next(name for name, field in model.model_fields.items() if (field.alias or name) == key)
    inner = {key: value for key, value in field_schema(model, field).items() if key not in ("description", "examples")}
    refused = not_as_short_form(name)
    return {
        "if": {"type": "object"},
        "then": own,
        "else": {**inner, "not": {"enum": list(refused)}} if refused else inner,
    }


def _limits(item: Any, own: Schema) -> Schema:
    found = {word: getattr(item, name) for name, word in _CONSTRAINTS.items() if getattr(item, name, None) is not None}
    least = getattr(item, "min_length", None)
    if least is not None:
        found["minItems" if own.get("type") == "array" else "minLength"] = least
    if getattr(item, "func", None) is is_not_zero or (
        found.get("exclusiveMinimum") == 0 and "else" in own
    ):  # a duration: not only zeros
        zero = {"anyOf": [{"const": 0}, {"type": "string", "pattern": rf"^[+-]?(0|([0.]+{_UNIT})+)$"}]}
        return {"not": zero}
    return found


def _configuration(struct: str, more: Schema) -> Schema:
    properties = {name: _go(field.type) for name, field in struct_fields(struct).items()}
    if struct == KIND:
        properties |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, **more}
        properties["featureGates"] = {**properties["featureGates"], "propertyNames": {"enum": _GATES}}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _go(type_: str) -> Schema:
    """The schema of a type of the kubelet's configuration."""
    type_ = type_.lstrip("*")
    if type_ in STRUCTS:
        return _configuration(type_, {})
    if type_.startswith("[]"):
        return {"type": "array", "items": _go(type_[2:])}
    if type_.startswith("map[string]"):
        return {"type": "object", "additionalProperties": _go(type_.removeprefix("map[string]"))}
    if type_.startswith(("int", "uint")):
        return {"type": "integer"}
    plain = {"bool": "boolean", "string": "string", "float64": "number"}
    return {"type": plain[type_]} if type_ in plain else {"type": ["string", "number"]}
