"""The objects of a file in the order in which a client applies them, including the items of lists.

Mirrors: k8s.io/cli-runtime/pkg/resource (lists); apimachinery/pkg/apis/meta/v1/unstructured decodeToList
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.served_kinds import group_of, stored_kind
from kubesim.scenario.load.yaml_source import Path
from kubesim.values import value_object

JsonObject = dict[str, Any]

CUSTOM_DEFINITION = "CustomResourceDefinition"

# Kinds that other objects refer to, and that an API server needs to admit those.
_FIRST = (
    "Namespace",
    CUSTOM_DEFINITION,
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "CSIDriver",
    "ServiceAccount",
)
# Kinds that are accepted and validated, but have no controller here.
_WITHOUT_EFFECT = ("Event", "Lease")


def items_of(manifest: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The object, or the items if it is a list, each with its path. Items of a PodList may omit their kind."""
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if not isinstance(kind, str) or not is_list(manifest):
        yield path, manifest
        return
    for n, item in enumerate(manifest.get("items") or ()):
        if kind != "List" and isinstance(item, dict) and not item.get("kind"):
            item = {**item, "apiVersion": manifest.get("apiVersion"), "kind": kind.removesuffix("List")}
        yield from items_of(item, (*path, "items", n))


def is_list(manifest: JsonObject) -> bool:
    kind, items = manifest["kind"], manifest.get("items")
    if items is None:
        return bool(kind == "List" or (kind.endswith("List") and "items" in manifest))
    return bool(kind.endswith("List") and isinstance(items, list))


def apply_order(manifests: Iterable[JsonObject]) -> list[JsonObject]:
    """All objects, including the items of lists: first those that others refer to, then the rest in their order."""
    objects = [item for manifest in manifests for _, item in items_of(manifest)]
    return sorted(objects, key=lambda item: _FIRST.index(item["kind"]) if item["kind"] in _FIRST else len(_FIRST))


def has_effect(manifest: JsonObject) -> bool:
    """Whether a simulated node or controller reads objects of this kind."""
    kind = stored_kind(manifest["apiVersion"], manifest["kind"])
    return kind in RESOURCES and kind not in _WITHOUT_EFFECT


def without_effect(manifests: Iterable[JsonObject]) -> list[str]:
    """The names of the objects that have no effect, such as `ClusterRole/reader`, each once."""
    objects = (item for manifest in manifests for _, item in items_of(manifest))
    return list(dict.fromkeys(shown(item) for item in objects if not has_effect(item)))


def shown(manifest: JsonObject) -> str:
    """The name of an object in messages: `Deployment/web`, or `Job/pi-*` for a generated name."""
    metadata = manifest.get("metadata") or {}
    return f"{manifest['kind']}/{metadata.get('name') or metadata.get('generateName', '') + '*'}"


@value_object
class CustomKind:
    """A kind of a CustomResourceDefinition."""

    versions: tuple[str, ...]
    namespaced: bool


CustomKinds = Mapping[tuple[str, str], CustomKind]  # by group and kind
NO_CUSTOM_KINDS: CustomKinds = {}


def custom_kinds(manifests: Iterable[Any]) -> CustomKinds:
    """The kinds of the CustomResourceDefinitions among these objects; malformed definitions are skipped."""
    found: dict[tuple[str, str], CustomKind] = {}
    for manifest in manifests:
        if not isinstance(manifest, dict) or manifest.get("kind") != CUSTOM_DEFINITION:
            continue
        spec = manifest.get("spec")
        names = spec.get("names") if isinstance(spec, dict) else None
        if isinstance(spec, dict) and isinstance(names, dict) and isinstance(names.get("kind"), str):
            versions = tuple(_served_versions(spec.get("versions") or ()))
            found[spec.get("group", ""), names["kind"]] = CustomKind(versions, spec.get("scope") != "Cluster")
    return found


def _served_versions(versions: Sequence[Any]) -> Iterator[str]:
    for version in versions:
        if isinstance(version, dict) and version.get("served", True):
            yield str(version.get("name", ""))


def is_namespaced(manifest: JsonObject, customs: CustomKinds) -> bool:
    """Whether a custom object has a namespace, by its definition; true without a definition."""
    custom = customs.get((group_of(manifest["apiVersion"]), manifest["kind"]))
    return custom is None or custom.namespaced
