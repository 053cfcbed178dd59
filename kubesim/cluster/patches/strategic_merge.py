"""Strategic merge patch: a JSON merge patch that merges lists by the keys of the declared type.

Pure functions on JSON values that never change their input.

Mirrors: apimachinery/pkg/util/strategicpatch patch.go mergeMap, mergeSlice, mergePatchIntoOriginal
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.cluster.patches.json_patch import Json, JsonObject
from kubesim.golang.text import listed

T = TypeVar("T")

_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


class StrategicPatchError(ValueError):
    """The patch cannot be applied; `bad_request` if the patch itself is malformed."""

    def __init__(self, message: str, *, bad_request: bool = False) -> None:
        self.bad_request = bad_request
        super().__init__(message)


def strategic_merge_patch(type_name: str, document: JsonObject, patch: JsonObject) -> JsonObject:
    """Merge a patch into an object of this type."""
    return _merge_map(document, patch, parse_type(type_name))


def _merge_map(original: JsonObject, patch: JsonObject, type_: Type | None) -> JsonObject:
    if _DIRECTIVE in patch:
        match patch[_DIRECTIVE]:
            case "replace":
                return {key: value for key, value in patch.items() if key != _DIRECTIVE}
            case "delete":
                return {}
            case other:
                raise _bad_directive(other, patch)
    original, patch = dict(original), dict(patch)
    _retain_keys(original, patch)
    for key in [key for key in patch if key.startswith(_ORDER)]:
        _merge_ordered_list(original, patch, key, type_)
    for key, value in patch.items():
        deleting = key.startswith(_DELETE_FROM)
        name = key.removeprefix(_DELETE_FROM) if deleting else key
        if value is None:
            original.pop(name, None)
        elif name not in original or _go_kind(original[name]) != _go_kind(value):
            if not deleting:
                _put(original, name, _without_nulls(value))
        elif isinstance(value, dict):
            original[name] = _merge_map(original[name], value, _field_type(type_, name))
        elif isinstance(value, list):
            original[name] = _merge_field_list(original[name], value, type_, name, deleting)
        else:
            original[name] = value
    return original


def _bad_directive(directive: Json, patch: JsonObject) -> StrategicPatchError:
    return StrategicPatchError(f"unknown patch type: {go_value(directive)} in map: {go_value(patch)}")


def _put(original: JsonObject, name: str, value: Json) -> None:
    kept, plain = _without_directives(value)
    if kept:
        original[name] = plain
    else:
        original.pop(name, None)


def _field_type(type_: Type | None, name: str) -> Type | None:
    """The type of a field, or of the values of a map."""
    if type_ is None:
        return None
    if type_.kind == "struct":
        field = struct_fields(type_.struct).get(name)
        return field.type if field else None
    return type_.element


def _retain_keys(original: JsonObject, patch: JsonObject) -> None:
    """`$retainKeys` lists all fields that may stay; the patch must not set others."""
    if _RETAIN_KEYS not in patch:
        return
    retained = patch.pop(_RETAIN_KEYS)
    problem = StrategicPatchError("invalid patch format of retainKeys", bad_request=True)
    if not isinstance(retained, list):
        raise problem
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_FROM, _ORDER)) and key not in retained:
            raise problem
    for key in [key for key in original if key not in retained]:
        del original[key]


def _merge_ordered_list(original: JsonObject, patch: JsonObject, key: str, type_: Type | None) -> None:
    """Merge a list in the order of `$setElementOrder/x`."""
    order, name = patch.pop(key), key.removeprefix(_ORDER)
    if not isinstance(order, list):
        raise StrategicPatchError("invalid patch format of setElementOrder list", bad_request=True)
    merge_key, element, merged_as = _list_rule(type_, name)
    old, new = original.get(name), patch.pop(name, None)
    if old is None and new is None:
        return
    if not isinstance(new, list | None) or not isinstance(old, list | None):
        raise StrategicPatchError(f"expected a []interface {{}}, but received a {_go_kind(new)}")
    _check_order(new or [], order, merge_key)
    merged: list[Json]
    if new is None:
        merged = old or []
    elif old is None:
        merged = _without_directives(new)[1]
    elif merged_as == "replace":
        merged = new
    else:
        merged = _merge_list(old, new, element, merge_key, deleting=False)
    original[name] = _in_order(merged, order, old or [], merge_key)


def _check_order(patch: list[Json], order: list[Json], merge_key: str) -> None:
    """Every element of the patch must be in the order list, in the same order."""
    wanted = [item for item in patch if not (isinstance(item, dict) and _DIRECTIVE in item)]
    positions = iter(order)
    for item in wanted:
        if not any(_identity(item, merge_key) == _identity(other, merge_key) for other in positions):
            given, directed = go_value(patch), go_value(order)
            raise StrategicPatchError(
                f"The order in patch list:\n{given}\n doesn't match $setElementOrder list:\n{directed}\n"
            )


def _list_rule(type_: Type | None, name: str) -> tuple[str, Type | None, str]:
    """The merge rule of a list: key (or none), element type, and whether it is merged at all."""
    list_type = _field_type(type_, name)
    element = list_type.element if list_type is not None else None
    merge = _merge_of(type_, name)
    return merge or "", element, "replace" if merge is None else "merge"


def _merge_of(type_: Type | None, name: str) -> str | None:
    field = struct_fields(type_.struct).get(name) if type_ is not None and type_.kind == "struct" else None
    return field.merge if field else None


def _merge_field_list(
    original: list[Json], patch: list[Json], type_: Type | None, name: str, deleting: bool
) -> list[Json]:
    merge_key, element, merged_as = _list_rule(type_, name)
    if merged_as == "replace" and not deleting:
        return patch
    return _merge_list(original, patch, element, merge_key, deleting)


def _merge_list(
    original: list[Json], patch: list[Json], element: Type | None, merge_key: str, deleting: bool
) -> list[Json]:
    if not original and not patch:
        return original
    if not any(isinstance(item, dict) for item in (*original, *patch)):
        if deleting:
            return [item for item in original if item not in patch]
        if any(isinstance(item, list) for item in (*original, *patch)):
            raise StrategicPatchError("lists of lists are not supported")
        return _in_order(list(dict.fromkeys((*original, *patch))), patch, original, "")
    if not all(isinstance(item, dict) for item in (*original, *patch)):
        raise StrategicPatchError(f"list element types are not identical: {go_value([original, patch])}")
    if not merge_key:
        raise StrategicPatchError(f"cannot merge lists without merge key for {element.struct if element else ''}")
    original, patch = _special_elements(original, patch, merge_key)
    merged = list(original)
    for item in patch:
        at = _find(merged, _key_of(item, merge_key), merge_key)
        if at is None:
            merged.append(item)
        else:
            merged[at] = _merge_map(merged[at], item, element)
    return _in_order(merged, patch, original, merge_key)


def _special_elements(original: list[Json], patch: list[Json], merge_key: str) -> tuple[list[Json], list[Json]]:
    """Handle elements with `$patch`: delete an element, or replace the list."""
    plain, replace = [], False
    for item in patch:
        if _DIRECTIVE not in item:
            plain.append(item)
            continue
        match item[_DIRECTIVE]:
            case "delete":
                wanted = _key_of(item, merge_key)
                original = [other for other in original if other.get(merge_key) != wanted]
            case "replace":
                replace = True
            case "merge":
                raise StrategicPatchError("merging lists cannot yet be specified in the patch")
            case other:
                raise _bad_directive(other, item)
    return (plain, []) if replace else (original, plain)


def _key_of(item: JsonObject, merge_key: str) -> Json:
    if merge_key not in item:
        raise StrategicPatchError(f"map: {go_value(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _find(items: list[Json], value: Json, merge_key: str) -> int | None:
    return next((n for n, item in enumerate(items) if item.get(merge_key) == value), None)


def _identity(item: Json, merge_key: str) -> Json:
    return item.get(merge_key) if merge_key and isinstance(item, dict) else item


def _in_order(merged: list[Json], patch_order: list[Json], server_order: list[Json], merge_key: str) -> list[Json]:
    def identity(item: Json) -> Json:
        return _identity(item, merge_key)

    return in_order(
        merged, [identity(item) for item in patch_order], [identity(item) for item in server_order], identity
    )


def in_order(merged: list[T], in_patch: list[Any], on_server: list[Any], identity: Callable[[T], Any]) -> list[T]:
    """Sorts items by the patch's order; other items keep their relative position."""
    left = [item for item in merged if identity(item) not in in_patch]
    right = [item for item in merged if identity(item) in in_patch]
    left.sort(key=lambda item: _position(on_server, identity(item)))
    right.sort(key=lambda item: _position(in_patch, identity(item)))
    out: list[T] = []
    while left and right:
        first, second = identity(left[0]), identity(right[0])
        both_known = first in on_server and second in on_server
        out.append((left if both_known and on_server.index(first) < on_server.index(second) else right).pop(0))
    return out + left + right


def _position(order: list[Json], value: Json) -> int:
    return order.index(value) if value in order else -1


def _without_nulls(value: Json) -> Json:
    """A new value without nulls."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _without_directives(value: Json) -> tuple[bool, Json]:
    """Whether anything remains of a new value without its directives, and the remaining value."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return False, None
        items = ((key, _without_directives(item)) for key, item in value.items())
        return True, {key: plain for key, (kept, plain) in items if kept}
    if isinstance(value, list):
        return True, [plain for kept, plain in map(_without_directives, value) if kept]
    return True, value


def _go_kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case dict():
            return "map"
        case list():
            return "slice"
        case _:
            return "number"


def go_value(value: Json) -> str:
    """A JSON value in Go's `%v` format: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_value(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return listed(_go_values(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _go_values(values: Iterable[Json]) -> Iterable[str]:
    return (go_value(value) for value in values)
