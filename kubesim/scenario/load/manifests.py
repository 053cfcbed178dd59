"""Plain Kubernetes objects in a scenario: are they of a kind we know, and does everything in them exist?

The first problem is reported by its path, so that the reader of the file can be pointed at the line. What passes here
is what `kubectl create` would accept.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kubesim.api.pods.defaults import set_pod_defaults
from kubesim.api.quantity import quantity
from kubesim.api.schema.codec import DecodeError, decode
from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.api.validation import PodValidationOptions, validate_pod_create
from kubesim.features import FeatureGates
from kubesim.scenario.load.yaml_source import Path

JsonObject = dict[str, Any]

PLAYED = "Pod"
STORED = ("ConfigMap", "Namespace", "PriorityClass", "RuntimeClass", "Secret", "Service", "ServiceAccount")
LISTS = ("List", "PodList")
CLUSTER_SCOPED = ("Namespace", "PriorityClass", "RuntimeClass")
WORKLOADS = ("CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet")

_WANTED = {"string": "text", "bool": "true or false", "int": "a whole number", "list": "a list", "Time": "a time"}
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]")


class Problem(NamedTuple):
    """What is wrong, and where in the object."""

    path: Path
    text: str


def field_name(path: Path) -> str:
    """`spec.containers[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def find_problem(manifest: Any, gates: FeatureGates) -> Problem | None:
    """The first thing that is wrong with one object (not a list), None if it can be applied."""
    if not isinstance(manifest, dict):
        return Problem((), "a Kubernetes object is a mapping with apiVersion and kind")
    return next(_problems(manifest, gates), None)


def _problems(manifest: JsonObject, gates: FeatureGates) -> Iterator[Problem]:
    for name in ("apiVersion", "kind"):
        if not isinstance(manifest.get(name), str) or not manifest[name]:
            yield Problem((name,), "is needed: a Kubernetes object says its apiVersion and kind")
    kind = manifest["kind"]
    yield from _kind_problem(kind, manifest["apiVersion"])
    type_ = parse_type(kind)
    if type_.kind == "struct":
        yield from _misfits(type_, manifest, ())
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name") or not isinstance(metadata["name"], str):
        yield Problem(("metadata", "name"), "is needed")
    if kind == PLAYED:
        yield from _pod_problems(manifest, gates)


def _kind_problem(kind: str, api_version: str) -> Iterator[Problem]:
    if kind in WORKLOADS:
        yield Problem(("kind",), f"{kind} is a controller's affair, and only pods are played: give its pods instead")
    if kind != PLAYED and kind not in STORED:
        known = [PLAYED, *STORED, "Scenario"]
        near = difflib.get_close_matches(kind, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        yield Problem(("kind",), f"unknown kind {kind!r}; {hint}")
    if kind == PLAYED and api_version != "v1":
        yield Problem(("apiVersion",), f"a Pod is of apiVersion v1, not {api_version!r}")


def _misfits(type_: Type, value: Any, path: Path) -> Iterator[Problem]:
    """Unknown fields and values of the wrong type. Null is an absent field."""
    if value is None:
        return
    match type_.kind:
        case "struct" | "map" if not isinstance(value, dict):
            yield Problem(path, f"must be a mapping, not {_found(value)}")
        case "struct":
            fields = struct_fields(type_.struct)
            for key, item in value.items():
                field = fields.get(key)
                if field is not None:
                    if type(item) is not str or field.type.kind != "string":
                        yield from _misfits(field.type, item, (*path, key))
                else:
                    near = difflib.get_close_matches(key, fields, n=1, cutoff=0.5)
                    yield Problem((*path, key), "unknown field" + (f"; did you mean {near[0]}?" if near else ""))
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
                yield Problem(path, f"{value!r} is not a quantity such as 500m or 64Mi")
        case kind if not _fits(kind, value):
            yield Problem(path, f"must be {_WANTED.get(kind, kind)}, not {_found(value)}")


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


def _pod_problems(manifest: JsonObject, gates: FeatureGates) -> Iterator[Problem]:
    """What the API server would refuse after it has filled in the defaults."""
    try:
        pod = decode("Pod", manifest)
    except DecodeError as error:
        yield Problem((), str(error))
        return
    pod["metadata"].setdefault("namespace", "default")
    set_pod_defaults(pod, gates)
    for refusal in validate_pod_create(pod, PodValidationOptions(gates)):
        yield Problem(_path(refusal.field), str(refusal).removeprefix(f"{refusal.field}: "))


def _path(field: str) -> Path:
    steps: list[str | int] = []
    for name, index, key in _STEP.findall(field):
        steps.append(int(index) if index else name or key)
    return tuple(steps)
