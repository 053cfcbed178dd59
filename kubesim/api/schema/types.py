"""The declared types as objects, from classes and tables; parsed on first use.

Mirrors: reflect.Type, as far as encoding/json uses it
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Literal

from kubesim.api import event, node, pod  # noqa: F401  # they fill MODELS
from kubesim.api.model import MODELS, Model
from kubesim.api.schema import kinds, network_tables, review_tables, tables, workload_tables
from kubesim.values import value_object

Kind = Literal["string", "bool", "int", "struct", "list", "map", "Quantity", "IntOrString", "Time", "raw"]

_INTEGERS = {"int32": 32, "int64": 64}
_SPECIAL: Mapping[str, tuple[Kind, str]] = {
    "Quantity": ("Quantity", "resource.Quantity"),
    "IntOrString": ("IntOrString", "intstr.IntOrString"),
    "Time": ("Time", "v1.Time"),
    "FieldsV1": ("raw", "v1.FieldsV1"),
    "RawExtension": ("raw", "runtime.RawExtension"),
    "UID": ("string", "types.UID"),
}
# Structs that have another name here, because a struct of another API group has the same name.
_GO_NAMES = {"ContainerResourceClaim": "ResourceClaim", "EndpointSubsetPort": "EndpointPort",
             "CPUAutoscaler": "HorizontalPodAutoscaler"}  # fmt: skip

# Kinds whose classes are imported on first use, because most runs do not use them.
_MODULES: Mapping[str, str] = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision"), "apps"),
    "ReplicationController": "apps",
    "Job": "batch",
    "CronJob": "batch",
    "PodDisruptionBudget": "policy",
    "Service": "services",
    "EndpointSlice": "services",
    "PodTemplateSpec": "templates",
}


def model_of(kind: str) -> type[Model] | None:
    """The class that declares a kind, if any."""
    if kind not in MODELS and kind in _MODULES:
        import_module(f"kubesim.api.workloads.{_MODULES[kind]}")
    return MODELS.get(kind)


@value_object
class Type:
    """A Go type: its kind, its name in errors, and its element type or struct."""

    kind: Kind
    go_name: str
    pointer: bool = False
    bits: int = 0
    element: Type | None = None
    struct: str = ""

    @property
    def of(self) -> Type:
        """The element type of a list, or the value type of a map."""
        assert self.element is not None
        return self.element


@value_object
class Field:
    """A field of a struct. `merge`: the key by which a strategic merge patch merges the list; empty for a set."""

    name: str
    type: Type
    omit_empty: bool
    embedded_in: str
    merge: str | None


def is_struct(name: str) -> bool:
    return model_of(name) is not None or name in _declarations()


@cache
def struct_fields(name: str) -> Mapping[str, Field]:
    """The fields of a struct by JSON name, in the order of declaration."""
    model = model_of(name)
    if model is not None:
        declared = model.declared.values()
        return {d.name: Field(d.name, parse_type(d.type), d.omit_empty, d.embedded_in, d.merge) for d in declared}
    fields: dict[str, Field] = {}
    embedded_in = ""
    for entry in _declarations()[name].split(", "):
        if entry.startswith("@"):
            embedded_in = entry[1:]
            continue
        field_text, type_text = entry.split(" ")
        field_text, merged, key = field_text.partition("+")
        json_name = field_text.rstrip("!")
        type_ = parse_type(type_text)
        fields[json_name] = Field(json_name, type_, json_name == field_text, embedded_in, key if merged else None)
    return fields


@cache
def parse_type(text: str) -> Type:
    """Parse a type: `*Probe`, `[]Container`, `map[string]string`, `PullPolicy`."""
    if text.startswith("*"):
        inner = parse_type(text[1:])
        return Type(inner.kind, inner.go_name, True, inner.bits, inner.element, inner.struct)
    if text.startswith("[]"):
        inner = parse_type(text[2:])
        return Type("list", f"[]{inner.go_name}", element=inner)
    if text == "ResourceList" or text.startswith("map["):
        values = "Quantity" if text == "ResourceList" else text.partition("]")[2]
        return Type("map", "v1.ResourceList" if text == "ResourceList" else text, element=parse_type(values))
    if text in ("string", "bool"):
        return Type("string" if text == "string" else "bool", text)
    if text in _INTEGERS:
        return Type("int", text, bits=_INTEGERS[text])
    if text in _SPECIAL:
        return Type(*_SPECIAL[text])
    if is_struct(text):
        return Type("struct", f"v1.{_GO_NAMES.get(text, text)}", struct=text)
    return Type("string", f"v1.{text}")


@cache
def _declarations() -> Mapping[str, str]:
    text = "".join(
        (
            tables.META,
            tables.POD,
            tables.VOLUMES,
            tables.STATUS,
            kinds.KINDS,
            review_tables.REVIEWS,
            *workload_tables.ALL,
            *network_tables.ALL,
        )
    ).replace("\n  ", " ")
    return dict(line.split(": ", 1) for line in text.splitlines() if line)
