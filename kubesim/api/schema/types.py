"""The declared types as objects: what the tables say, parsed once when it is first asked for.

Mirrors: reflect.Type, as far as encoding/json looks at it
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from kubesim.api.schema import kinds, tables
from kubesim.frozen import frozen

Kind = Literal["string", "bool", "int", "struct", "list", "map", "Quantity", "IntOrString", "Time", "raw"]

_INTEGERS = {"int32": 32, "int64": 64}
_SPECIAL: Mapping[str, tuple[Kind, str]] = {
    "Quantity": ("Quantity", "resource.Quantity"),
    "IntOrString": ("IntOrString", "intstr.IntOrString"),
    "Time": ("Time", "v1.Time"),
    "FieldsV1": ("raw", "v1.FieldsV1"),
    "UID": ("string", "types.UID"),
}


@frozen
class Type:
    """A Go type: its kind, the name that error texts give it, and what it is made of."""

    kind: Kind
    go_name: str
    pointer: bool = False
    bits: int = 0
    element: Type | None = None
    struct: str = ""

    @property
    def of(self) -> Type:
        """The type of the elements of a list or the values of a map."""
        assert self.element is not None
        return self.element


@frozen
class Field:
    name: str
    type: Type
    omit_empty: bool
    embedded_in: str


@cache
def struct_fields(name: str) -> Mapping[str, Field]:
    """The fields of a struct by their JSON names, in the order of declaration."""
    fields: dict[str, Field] = {}
    embedded_in = ""
    for entry in _declarations()[name].split(", "):
        if entry.startswith("@"):
            embedded_in = entry[1:]
            continue
        field_name, type_text = entry.split(" ")
        json_name = field_name.rstrip("!")
        fields[json_name] = Field(json_name, parse_type(type_text), json_name == field_name, embedded_in)
    return fields


@cache
def parse_type(text: str) -> Type:
    """`*Probe`, `[]Container`, `map[string]string`, `PullPolicy` -> the type."""
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
    if text in _declarations():
        return Type("struct", f"v1.{text}", struct=text)
    return Type("string", f"v1.{text}")


@cache
def _declarations() -> Mapping[str, str]:
    text = "".join((tables.META, tables.POD, tables.VOLUMES, tables.STATUS, kinds.KINDS)).replace("\n  ", " ")
    return dict(line.split(": ", 1) for line in text.splitlines() if line)
