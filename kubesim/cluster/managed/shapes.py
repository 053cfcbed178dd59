"""Schemas for server-side apply: the kind of a value, its fields, and how its lists and maps are merged.

A schema comes from a declared type, or from the definition of a custom resource.

Mirrors: structured-merge-diff schema elements.go; k8s.io/kube-openapi pkg/schemaconv
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Literal, Protocol

from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.cluster.managed.relations import ATOMIC_MAPS, ATOMIC_TYPES, KEY_DEFAULTS, LISTS

ShapeKind = Literal["scalar", "map", "list"]
Scalar = Literal["string", "numeric", "boolean", "untyped"]


class Shape(Protocol):
    """The schema of a value. `keys` None: the list is not associative; () and not atomic: it is a set."""

    @property
    def atomic(self) -> bool: ...

    @property
    def scalar(self) -> Scalar: ...

    @property
    def keys(self) -> tuple[str, ...]: ...

    def kind_for(self, value: Any) -> ShapeKind: ...

    def field(self, name: str) -> Shape | None:
        """The schema of a declared field; None if there is no such field."""
        ...

    @property
    def element(self) -> Shape | None:
        """The schema of list elements or map values; None for a struct."""
        ...

    def default(self, name: str) -> Any:
        """The default of a key that an element omits; None: no default."""
        ...


class Deduced:
    """The schema of a value without a declared type, deduced from the value. Its lists are atomic."""

    scalar: Scalar = "untyped"
    keys: tuple[str, ...] = ()

    @property
    def atomic(self) -> bool:
        return False

    def kind_for(self, value: Any) -> ShapeKind:
        return "map" if isinstance(value, dict) else "list" if isinstance(value, list) else "scalar"

    def field(self, name: str) -> Shape | None:
        return None

    @property
    def element(self) -> Shape | None:
        return self

    def default(self, name: str) -> Any:
        return None


class DeducedList(Deduced):
    """The schema of an atomic list without a declared type."""

    @property
    def atomic(self) -> bool:
        return True


DEDUCED = Deduced()
_DEDUCED_LIST = DeducedList()


class DeclaredShape:
    """The schema of a value with a declared type, as a field of a struct or an element."""

    def __init__(self, type_: Type, owner: str = "", name: str = "") -> None:
        self._type = type_
        self._declared_at = (owner, name)
        keys = LISTS.get(self._declared_at) if type_.kind == "list" else None
        self.keys: tuple[str, ...] = keys or ()
        self.atomic = (
            (type_.kind == "list" and keys is None)
            or (type_.kind == "map" and self._declared_at in ATOMIC_MAPS)
            or (type_.kind == "struct" and type_.struct in ATOMIC_TYPES)
        )
        scalars: Mapping[str, Scalar] = {"string": "string", "bool": "boolean", "int": "numeric"}
        self.scalar: Scalar = scalars.get(type_.kind, "untyped")
        if type_.go_name == "v1.MicroTime":
            self.scalar = "untyped"

    def kind_for(self, value: Any) -> ShapeKind:
        if self._type.kind == "raw":
            return DEDUCED.kind_for(value)
        return {"struct": "map", "map": "map", "list": "list"}.get(self._type.kind, "scalar")  # type: ignore[return-value]

    @cached_property
    def _fields(self) -> Mapping[str, Shape]:
        if self._type.kind != "struct":
            return {}
        struct = self._type.struct
        return {name: _declared(each.type, struct, name) for name, each in struct_fields(struct).items()}

    def field(self, name: str) -> Shape | None:
        return self._fields.get(name)

    @cached_property
    def element(self) -> Shape | None:
        if self._type.kind == "raw":
            return DEDUCED
        return None if self._type.element is None else _declared(self._type.of, "", "")

    def default(self, name: str) -> Any:
        struct = self._type.struct
        if (struct, name) in KEY_DEFAULTS:
            return KEY_DEFAULTS[(struct, name)]
        declared = struct_fields(struct).get(name)
        if declared is None or declared.omit_empty:
            return None
        return 0 if declared.type.kind == "int" else ""


@cache
def _declared(type_: Type, owner: str, name: str) -> DeclaredShape:
    return DeclaredShape(type_, owner, name)


def shape_of_type(name: str) -> Shape:
    return _declared(parse_type(name), "", "")


class OfSchema:
    """The schema of a value in a custom resource."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        list_type = schema.get("x-kubernetes-list-type", "atomic")
        is_list = schema.get("type") == "array"
        self.keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if is_list else ()
        self.atomic = list_type == "atomic" if is_list else schema.get("x-kubernetes-map-type") == "atomic"
        scalars: Mapping[str, Scalar] = {
            "string": "string", "boolean": "boolean", "integer": "numeric", "number": "numeric",
        }  # fmt: skip
        self.scalar: Scalar = scalars.get(schema.get("type", ""), "untyped")

    def kind_for(self, value: Any) -> ShapeKind:
        match self._schema.get("type"):
            case "object":
                return "map"
            case "array":
                return "list"
            case None | "":
                return DEDUCED.kind_for(value)
        return "scalar"

    def field(self, name: str) -> Shape | None:
        declared = (self._schema.get("properties") or {}).get(name)
        return None if declared is None else OfSchema(declared)

    @property
    def element(self) -> Shape | None:
        of = self._schema.get("items") or self._schema.get("additionalProperties")
        if isinstance(of, Mapping):
            return OfSchema(of)
        preserves = self._schema.get("x-kubernetes-preserve-unknown-fields") or "type" not in self._schema
        return DEDUCED if preserves or of or self._schema.get("type") == "array" else None

    def default(self, name: str) -> Any:
        return ((self._schema.get("properties") or {}).get(name) or {}).get("default")


class OfResource:
    """The schema of a custom object: its metadata has a declared type, the rest follows the definition."""

    scalar: Scalar = "untyped"
    keys: tuple[str, ...] = ()
    atomic = False

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        self._rest: Shape = DEDUCED if schema is None else OfSchema(schema)

    def kind_for(self, value: Any) -> ShapeKind:
        return "map"

    def field(self, name: str) -> Shape | None:
        if name == "metadata":
            return shape_of_type("ObjectMeta")
        if name in ("kind", "apiVersion"):
            return shape_of_type("string")
        return self._rest.field(name)

    @property
    def element(self) -> Shape | None:
        return self._rest.element

    def default(self, name: str) -> Any:
        return None
