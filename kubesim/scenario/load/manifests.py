"""Checks plain Kubernetes objects of a scenario: whether the API server serves their kind and knows all their fields.

Problems are reported by path, from which the caller finds the line. The checks accept what `kubectl create` would
accept, as far as that does not depend on other objects.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kubesim.api.pods.defaults import set_pod_defaults
from kubesim.api.quantity import quantity
from kubesim.api.schema.codec import DecodeError, decode
from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.api.timestamps import parse_time
from kubesim.api.validation import PodValidationOptions, validate_pod_create
from kubesim.api.validation.field import Errors
from kubesim.cluster.registry.kind_rules import check_base64
from kubesim.cluster.registry.registry import complete
from kubesim.cluster.registry.strategies import internal, validate_create
from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.cluster.store.served_kinds import (
    group_of,
    is_custom_group,
    resource_for,
    served_kinds,
    versions_of,
)
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.features import FeatureGates
from kubesim.scenario.load.objects import NO_CUSTOM_KINDS, CustomKinds, has_effect, shown
from kubesim.scenario.load.yaml_source import Path

JsonObject = dict[str, Any]

_WANTED = {"string": "text", "bool": "true or false", "int": "a whole number", "list": "a list", "Time": "a time"}
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]")
_UID = "00000000-0000-4000-8000-000000000000"  # the uid of an object that is only checked
_SUFFIX = "xxxxx"  # in place of the suffix that a server adds to a generateName


class ManifestProblem(NamedTuple):
    """A problem and its path in the object."""

    path: Path
    text: str


def field_name(path: Path) -> str:
    """`spec.containers[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def find_problem(
    manifest: Any, gates: FeatureGates, customs: CustomKinds = NO_CUSTOM_KINDS, *, strict: bool = False
) -> ManifestProblem | None:
    """The first problem of one object (not a list); None if it can be applied."""
    return next(find_problems(manifest, gates, customs, strict=strict), None)


def find_problems(
    manifest: Any, gates: FeatureGates, customs: CustomKinds = NO_CUSTOM_KINDS, *, strict: bool = False
) -> Iterator[ManifestProblem]:
    """The problems of one object (not a list); none if it can be applied. An object that no API server can decode is
    not validated.

    `customs` are the kinds of CustomResourceDefinitions; `strict` rejects objects that have no effect in kubesim.
    """
    if not isinstance(manifest, dict):
        yield ManifestProblem((), "a Kubernetes object is a mapping with apiVersion and kind")
        return
    found = False
    for find in (_identity_problems, _structure_problems, _validation_problems):
        for problem in find(manifest, gates, customs, strict):
            found = True
            yield problem
        if found:
            return


def find_patch_problems(kind: str, patch: JsonObject | Sequence[JsonObject]) -> Iterator[ManifestProblem]:
    """The unknown fields of a patch, and the values of the wrong type."""
    if kind not in RESOURCES:
        return
    if isinstance(patch, dict):
        yield from _misfits(parse_type(kind), _without_directives(patch), ())
        return
    for number, operation in enumerate(patch):
        for problem in _misfits(parse_type(kind), object_of_operation(operation), ()):
            yield ManifestProblem((number, "path"), f"{field_name(problem.path)}: {problem.text}")


def object_of_operation(operation: JsonObject) -> Any:
    """An object with only the value that an operation of a JSON patch sets."""
    value, path = operation.get("value"), operation.get("path")
    if not isinstance(path, str) or not path.startswith("/"):
        return value
    for step in reversed(path[1:].split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        value = [value] if name == "-" or name.isdigit() else {name: value}
    return value


def _without_directives(patch: Any) -> Any:
    """The patch without strategic merge directives, such as `$patch: delete`."""
    if isinstance(patch, dict):
        return {key: _without_directives(value) for key, value in patch.items() if not str(key).startswith("$")}
    return [_without_directives(item) for item in patch] if isinstance(patch, list | tuple) else patch


def _identity_problems(
    manifest: JsonObject, gates: FeatureGates, customs: CustomKinds, strict: bool
) -> Iterator[ManifestProblem]:
    missing = [name for name in ("apiVersion", "kind") if not isinstance(manifest.get(name), str) or not manifest[name]]
    for name in missing:
        yield ManifestProblem((name,), "is required: every Kubernetes object has an apiVersion and a kind")
    if not missing:
        yield from _kind_problem(manifest["apiVersion"], manifest["kind"], customs)


def _structure_problems(
    manifest: JsonObject, gates: FeatureGates, customs: CustomKinds, strict: bool
) -> Iterator[ManifestProblem]:
    """Unknown fields, values of the wrong type, and a missing name."""
    resource = resource_for(manifest["apiVersion"], manifest["kind"])
    if resource.kind in RESOURCES:
        yield from _misfits(parse_type(resource.kind), manifest, ())
    else:
        yield from _misfits(parse_type("ObjectMeta"), manifest.get("metadata"), ("metadata",))
    metadata = manifest.get("metadata") or {}
    if isinstance(metadata, dict) and not metadata.get("name") and not metadata.get("generateName"):
        yield ManifestProblem(("metadata", "name"), "is needed")


def _validation_problems(
    manifest: JsonObject, gates: FeatureGates, customs: CustomKinds, strict: bool
) -> Iterator[ManifestProblem]:
    resource = resource_for(manifest["apiVersion"], manifest["kind"])
    if strict and not has_effect(manifest):
        yield ManifestProblem(("kind",), f"{shown(manifest)} has no effect here, and --strict refuses such objects")
    if resource.kind == "Pod":
        yield from _pod_problems(manifest, gates)
    elif resource.kind in RESOURCES:
        yield from _object_problems(resource, manifest)


def _kind_problem(api_version: str, kind: str, customs: CustomKinds) -> Iterator[ManifestProblem]:
    """The API server's error for an unknown kind; None if it knows the kind."""
    if (api_version, kind) in served_kinds():
        return
    custom = customs.get((group_of(api_version), kind))
    if custom is not None:
        known = api_version.rpartition("/")[2] in custom.versions
    else:
        known = is_custom_group(api_version)
    if not known:
        blamed = "apiVersion" if custom is not None or any(versions_of(kind)) else "kind"
        hint = _hint(group_of(api_version), kind)
        yield ManifestProblem((blamed,), f'no matches for kind "{kind}" in version "{api_version}"{hint}')


def _hint(group: str, kind: str) -> str:
    versions = list(versions_of(kind))
    if versions:
        return f"; v1.36 serves it in {' and '.join(versions)}"
    kinds = ["Scenario", *(name for version, name in served_kinds() if group_of(version) == group)]
    near = difflib.get_close_matches(kind, kinds, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _misfits(type_: Type, value: Any, path: Path) -> Iterator[ManifestProblem]:
    """Unknown fields and values of the wrong type. Null is an absent field."""
    if value is None:
        return
    match type_.kind:
        case "struct" | "map" if not isinstance(value, dict):
            yield ManifestProblem(path, f"must be a mapping, not {_found(value)}")
        case "struct":
            fields = struct_fields(type_.struct)
            for key, item in value.items():
                field = fields.get(key)
                if field is not None:
                    if type(item) is not str or field.type.kind != "string":
                        yield from _misfits(field.type, item, (*path, key))
                else:
                    near = difflib.get_close_matches(key, fields, n=1, cutoff=0.5)
                    yield ManifestProblem(
                        (*path, key), "unknown field" + (f"; did you mean {near[0]}?" if near else "")
                    )
        case "map":
            for key, item in value.items():
                yield from _misfits(type_.of, item, (*path, key))
        case "list" if isinstance(value, list):
            for n, item in enumerate(value):
                yield from _misfits(type_.of, item, (*path, n))
        case "Quantity" if _fits("Quantity", value):
            try:
                quantity(value)
            except ValueError:
                yield ManifestProblem(path, f"{value!r} is not a quantity such as 500m or 64Mi")
        case "Time" if isinstance(value, str):
            try:
                parse_time(value)
            except ValueError:
                yield ManifestProblem(path, f"{value!r} is not a time such as 2026-01-02T15:04:05Z")
        case kind if not _fits(kind, value):
            yield ManifestProblem(path, f"must be {_WANTED.get(kind, kind)}, not {_found(value)}")


def _fits(kind: str, value: Any) -> bool:
    match kind:
        case "string" | "Time":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "Quantity":
            return isinstance(value, str | int | float) and not isinstance(value, bool)
        case "IntOrString":
            return isinstance(value, str | int) and not isinstance(value, bool)
        case "list":
            return False
        case _:
            return True


def _found(value: Any) -> str:
    if isinstance(value, bool):
        return f"{str(value).lower()} (put text in quotes)"
    if isinstance(value, int | float):
        return f"the number {value} (put text in quotes)"
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else f"{value!r}"


def _pod_problems(manifest: JsonObject, gates: FeatureGates) -> Iterator[ManifestProblem]:
    """The errors of the API server for a pod with defaults applied."""
    try:
        pod = decode("Pod", manifest)
    except DecodeError as error:
        yield ManifestProblem((), str(error))
        return
    _name(pod["metadata"])
    pod["metadata"].setdefault("namespace", "default")
    set_pod_defaults(pod, gates)
    yield from _refusals(validate_pod_create(pod, PodValidationOptions(gates)))


def _object_problems(resource: Resource, manifest: JsonObject) -> Iterator[ManifestProblem]:
    """The errors of the API server for other kinds that have validation rules."""
    try:
        obj = internal(resource, manifest)
    except DecodeError as error:
        yield ManifestProblem(_badly_encoded(manifest), str(error))
        return
    _name(obj["metadata"])
    if resource.namespaced:
        obj["metadata"].setdefault("namespace", "default")
    try:
        complete(Store(lambda: 0, lambda: _UID), resource, obj)
    except ApiError as error:
        yield ManifestProblem((), error.message)
        return
    yield from _refusals(validate_create(resource, obj))


def _badly_encoded(manifest: JsonObject) -> Path:
    """The error for a value that is not base64, if that is the mistake."""
    for field in ("data", "binaryData") if manifest["kind"] in ("ConfigMap", "Secret") else ():
        for key, value in (manifest.get(field) or {}).items():
            try:
                check_base64({key: value} if (manifest["kind"], field) != ("ConfigMap", "data") else None)
            except DecodeError:
                return (field, key)
    return ()


def _name(metadata: JsonObject) -> None:
    if not metadata.get("name"):
        metadata["name"] = metadata["generateName"] + _SUFFIX


def _refusals(errors: Errors) -> Iterator[ManifestProblem]:
    for refusal in errors:
        yield ManifestProblem(_path(refusal.field), str(refusal).removeprefix(f"{refusal.field}: "))


def _path(field: str) -> Path:
    steps: list[str | int] = []
    for name, index, key in _STEP.findall(field):
        steps.append(int(index) if index else name or key)
    return tuple(steps)
