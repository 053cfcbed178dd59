"""Reads the table of fields. It has only light imports, because the command line builds its flags from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kubesim.kubeletconfig.table import KIND, STRUCTS
from kubesim.values import value_object


@value_object
class ConfigurationField:
    name: str
    type: str  # Go's type, without the star of a pointer
    flag: str  # without the dashes; empty: no flag
    default: str | None
    played: bool
    pointer: bool


@cache
def struct_fields(struct: str = KIND) -> Mapping[str, ConfigurationField]:
    """The fields of a struct by name."""
    fields = {}
    for row in STRUCTS[struct].splitlines():
        name, type_, flag, default = row.split()
        fields[name.lstrip("*")] = ConfigurationField(
            name.lstrip("*"),
            type_.lstrip("*"),
            "" if flag == "." else flag,
            None if default == "." else default,
            name.startswith("*"),
            type_.startswith("*"),
        )
    return fields


def all_fields(struct: str = KIND, before: str = "") -> Iterator[tuple[str, ConfigurationField]]:
    """Every field that is not itself a struct, with its dotted name."""
    for name, field in struct_fields(struct).items():
        if field.type in STRUCTS:
            yield from all_fields(field.type, f"{before}{name}.")
        else:
            yield f"{before}{name}", field


@cache
def field_named(dotted: str) -> ConfigurationField:
    return dict(all_fields())[dotted]
