"""JSON merge patch and JSON patch: pure functions on JSON values that never change their input.

Mirrors: github.com/evanphx/json-patch merge.go, patch.go (RFC 7386, RFC 6902, with its leniencies)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Json = Any
JsonObject = dict[str, Any]

_INDEX = re.compile(r"-?[0-9]+")


class PatchError(ValueError):
    """A patch that cannot be applied to this document."""


def merge_patch(document: Json, patch: Json) -> Json:
    """RFC 7386: objects are merged, null removes, other values replace."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(document: Json, operations: Sequence[Mapping[str, Any]]) -> Json:
    """Apply the operations in order, all or none."""
    document = _copy(document)
    for operation in operations:
        document = _apply(document, operation)
    return document


def _copy(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list | tuple) else value


def _apply(document: Json, operation: Mapping[str, Any]) -> Json:
    path = operation.get("path")
    if not isinstance(path, str):
        raise PatchError("an operation without a path")
    match operation.get("op"):
        case "add":
            return _add(document, path, _copy(operation.get("value")))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _replace(document, path, _copy(operation.get("value")))
        case "move":
            value = _get(document, _source(operation))
            return _add(_remove(document, _source(operation)), path, value)
        case "copy":
            return _add(document, path, _copy(_get(document, _source(operation))))
        case "test":
            if not equal_json(_get(document, path), operation.get("value")):
                raise PatchError(f"testing value {path} failed")
            return document
        case other:
            raise PatchError(f"unexpected kind: {other}")


def _source(operation: Mapping[str, Any]) -> str:
    source = operation.get("from")
    if not isinstance(source, str):
        raise PatchError("an operation without a source")
    return source


def equal_json(left: Json, right: Json) -> bool:
    """JSON equality: `1` is not `true`."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _parts(path: str) -> list[str]:
    if not path.startswith("/"):
        raise PatchError(f"no such path {path!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _parent(document: Json, parts: list[str], path: str) -> Json:
    for part in parts[:-1]:
        document = _child(document, part, path)
    if not isinstance(document, dict | list):
        raise PatchError(f"doc is missing path: {path}")
    return document


def _child(container: Json, part: str, path: str) -> Json:
    if isinstance(container, dict):
        return container.get(part)
    if isinstance(container, list):
        return container[_index(part, len(container), path)]
    raise PatchError(f"doc is missing path: {path}")


def _index(part: str, length: int, path: str) -> int:
    """A list index; negative ones count from the end."""
    if not _INDEX.fullmatch(part):
        raise PatchError(f"{path}: {part!r} is no index")
    index = int(part)
    if not -length <= index < length:
        raise PatchError(f"{path}: index {part} is out of bounds")
    return index % length


def _get(document: Json, path: str) -> Json:
    if path == "":
        return document
    parts = _parts(path)
    return _child(_parent(document, parts, path), parts[-1], path)


def _add(document: Json, path: str, value: Json) -> Json:
    if path == "":
        return value
    parts = _parts(path)
    parent, last = _parent(document, parts, path), parts[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    else:
        parent.insert(_index(last, len(parent) + 1, path), value)
    return document


def _replace(document: Json, path: str, value: Json) -> Json:
    """Replace a key, or add a missing one, as upstream does not check."""
    if path == "":
        return value
    parts = _parts(path)
    parent, last = _parent(document, parts, path), parts[-1]
    if isinstance(parent, dict):
        parent[last] = value
    else:
        parent[_index(last, len(parent), path)] = value
    return document


def _remove(document: Json, path: str) -> Json:
    parts = _parts(path)
    parent, last = _parent(document, parts, path), parts[-1]
    if isinstance(parent, dict):
        if last not in parent:
            raise PatchError(f"unable to remove nonexistent key: {last}")
        del parent[last]
    else:
        del parent[_index(last, len(parent), path)]
    return document
