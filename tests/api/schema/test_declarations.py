"""The declared API types: Python field types match the Go types."""

from __future__ import annotations

import re

import pytest

from kubesim.api.model import MODELS
from kubesim.api.schema.types import Type, parse_type, struct_fields

PYTHON = {
    "bool": "bool",
    "int": "int",
    "IntOrString": "int | str",
    "string": "str",
    "Time": "str",
    "raw": "dict[str, Any]",
}


def python_type(type_: Type) -> str:
    match type_.kind:
        case "list":
            return f"tuple[{python_type(type_.of)}, ...]"
        case "map":
            if type_.of.kind == "Quantity":
                return "ResourceList"
            return f"dict[str, {python_type(type_.of).removesuffix(' | None')}]"  # values of a map are never None
        case "struct":
            name = type_.struct if type_.struct in MODELS else "dict[str, Any]"
        case kind:
            name = PYTHON[kind]
    nil = type_.pointer or type_.kind == "Time" or type_.go_name == "v1.MicroTime"
    return f"{name} | None" if nil else name


@pytest.mark.parametrize("name", sorted(MODELS))
def test_python_and_go_types_match(name: str) -> None:
    model = MODELS[name]
    written = {
        field: text for base in reversed(model.__mro__) for field, text in vars(base).get("__annotations__", {}).items()
    }
    for field, declared in model.declared.items():
        assert written[field] == python_type(parse_type(declared.type)), field


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_type_is_declared_once(name: str) -> None:
    from kubesim.api.schema import kinds, tables

    texts = (tables.META, tables.POD, tables.VOLUMES, tables.STATUS, kinds.KINDS)
    assert not any(re.search(rf"^{name}: ", text, re.MULTILINE) for text in texts)
    assert all(field.type for field in struct_fields(name).values())
