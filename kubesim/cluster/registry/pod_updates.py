"""Allowed changes of a pod: its spec, its ephemeral containers. (Status: `subresources/pod_status.py`.)

The functions take JSON objects with defaults and add errors in the API's order.

Mirrors: pkg/apis/core/validation ValidatePodUpdate, ValidatePodEphemeralContainersUpdate
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kubesim.api.meta import CONFIG_MIRROR
from kubesim.api.schema.codec import encode
from kubesim.api.validation import formats
from kubesim.api.validation.annotations import validate_pod_annotations
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.metadata import validate_object_meta
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.pod import validate_pod_spec
from kubesim.api.validation.scheduling import validate_tolerations
from kubesim.cluster.registry.metadata_updates import validate_kubernetes_meta_update
from kubesim.golang.text import quoted

OPTIONS = PodValidationOptions(resource_is_pod=True)
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_APP_ARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/"


def validate_pod_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    """Validate a user's update. Only images, tolerations, the deadline and scheduling gates may change, each in one
    direction.
    """
    validate_metadata_and_spec(errors, new, old)
    validate_annotation_updates(errors, new, old)
    new_spec, old_spec = new["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        if not _validate_container_updates(errors, new_spec.get(kind) or [], old_spec.get(kind) or [], f"spec.{kind}"):
            return
    if not _validate_deadline(errors, new_spec.get("activeDeadlineSeconds"), old_spec.get("activeDeadlineSeconds")):
        return
    _validate_added_tolerations(errors, new_spec.get("tolerations") or [], old_spec.get("tolerations") or [])
    old_gates = {gate.get("name", "") for gate in old_spec.get("schedulingGates") or ()}
    for n, gate in enumerate(new_spec.get("schedulingGates") or ()):
        if gate.get("name", "") not in old_gates:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
            errors.forbidden(f"spec.schedulingGates[{n}].name", detail)
    if spec_of(new) == spec_of(old):
        return
    munged = _with_allowed_changes_undone(errors, new_spec, old_spec)
    if encode("PodSpec", munged) != spec_of(old):
        difference = "\n".join(_difference(spec_of(old), encode("PodSpec", munged), ""))
        errors.forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}\n{difference}\n")


def spec_of(pod: JsonObject) -> JsonObject:
    """The spec in a normalized form, for comparison."""
    return encode("PodSpec", pod["spec"])


def validate_metadata_and_spec(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    validate_kubernetes_meta_update(errors, new["metadata"], old["metadata"])
    validate_object_meta(errors, new["metadata"], "metadata")
    validate_pod_annotations(errors, new, "metadata.annotations", OPTIONS)
    validate_pod_spec(errors, new["spec"], new["metadata"], "spec", OPTIONS)


def validate_annotation_updates(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    after, before = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    for key in sorted({*after, *before}):
        if after.get(key) == before.get(key):
            continue
        change = "remove or update" if key in before else "add"
        if key.startswith(_APP_ARMOR_PREFIX):
            errors.forbidden(f"metadata.annotations[{key}]", f"may not {change} AppArmor annotations")
        if key == CONFIG_MIRROR:
            errors.forbidden(f"metadata.annotations[{key}]", f"may not {change} mirror pod annotation")
    validate_pod_annotations(errors, new, "metadata.annotations", OPTIONS)


def _validate_container_updates(errors: Errors, new: list[JsonObject], old: list[JsonObject], path: str) -> bool:
    """Returns whether the containers can be compared one by one."""
    if len(new) != len(old):
        errors.forbidden(path, "pod updates may not add or remove containers")
        return False
    for n, container in enumerate(new):
        image = container.get("image", "")
        if not image:
            errors.required(f"{path}[{n}].image")
        if image.strip() != image:
            errors.invalid(f"{path}[{n}].image", image, "must not have leading or trailing whitespace")
    return True


def _validate_deadline(errors: Errors, new: int | None, old: int | None) -> bool:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            errors.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= new <= formats.MAX_INT32:
        errors.invalid(path, new, formats.range_error(0, formats.MAX_INT32))
        return False
    if old is not None and old < new:
        errors.invalid(path, new, "must be less than or equal to previous value")
        return False
    return True


def _validate_added_tolerations(errors: Errors, new: list[JsonObject], old: list[JsonObject]) -> None:
    def what(toleration: JsonObject) -> tuple[Any, ...]:
        return tuple(toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))

    if not {what(toleration) for toleration in old} <= {what(toleration) for toleration in new}:
        errors.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        return
    validate_tolerations(errors, new, "spec.tolerations", OPTIONS)


def _with_allowed_changes_undone(errors: Errors, new: JsonObject, old: JsonObject) -> JsonObject:
    """The new spec with every allowed change reverted. Any remaining difference is forbidden."""
    munged = dict(new)
    for kind in ("containers", "initContainers"):
        munged[kind] = [
            {**container, "image": before.get("image", "")}
            for container, before in zip(new.get(kind) or (), old.get(kind) or (), strict=True)
        ]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged[name] = old.get(name)
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if old.get("schedulingGates"):  # the node selection of a gated pod can still be narrowed
        _validate_narrowing(errors, munged, old)
    return munged


def _validate_narrowing(errors: Errors, munged: JsonObject, old: JsonObject) -> None:
    before, after = old.get("nodeSelector") or {}, munged.get("nodeSelector") or {}
    if any(after.get(key) != value for key, value in before.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.invalid("spec.nodeSelector", after, detail)
    munged["nodeSelector"] = old.get("nodeSelector")
    old_affinity, new_affinity = old.get("affinity") or {}, munged.get("affinity") or {}
    old_node, new_node = old_affinity.get("nodeAffinity"), new_affinity.get("nodeAffinity")
    if old_node == new_node:
        return
    _validate_terms(errors, _terms(new_node), _terms(old_node))
    rest = {key: value for key, value in new_affinity.items() if key != "nodeAffinity"}
    if old_node is not None:
        munged["affinity"] = {**rest, "nodeAffinity": old_node}
    else:
        munged["affinity"] = rest if rest or old.get("affinity") is not None else None


def _terms(node_affinity: JsonObject | None) -> list[JsonObject]:
    required = (node_affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return list(required.get("nodeSelectorTerms") or ())


def _validate_terms(errors: Errors, new: list[JsonObject], old: list[JsonObject]) -> None:
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if old and len(old) != len(new):
        errors.invalid(path, new, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for n, (before, after) in enumerate(zip(old, new, strict=False)):
        if not _only_adds(after, before):
            errors.invalid(f"{path}[{n}]", after, "only additions are allowed (no mutations or deletions)")


def _only_adds(new: JsonObject, old: JsonObject) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(old.get(kind) for kind in kinds):
        return not any(new.get(kind) for kind in kinds)
    return all((new.get(kind) or [])[: len(old.get(kind) or [])] == (old.get(kind) or []) for kind in kinds)


def _difference(old: Any, new: Any, path: str) -> Iterator[str]:
    """A diff of the changed fields, one `-` and one `+` line each. (Upstream prints a diff of Go structs.)"""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _difference(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _difference(before, after, f"{path}[{n}]")
    elif old != new:
        yield f"-{path}: {json.dumps(old)}"
        yield f"+{path}: {json.dumps(new)}"


def validate_ephemeral_containers_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    """Ephemeral containers can only be added."""
    if CONFIG_MIRROR in (old["metadata"].get("annotations") or {}):
        errors.forbidden("", "static pods do not support ephemeral containers")
        return
    validate_metadata_and_spec(errors, new, old)
    validate_annotation_updates(errors, new, old)
    path = "spec.ephemeralContainers"
    after = {container.get("name", ""): container for container in spec_of(new).get("ephemeralContainers") or ()}
    for container in spec_of(old).get("ephemeralContainers") or ():
        name = container.get("name", "")
        if name not in after:
            errors.forbidden(path, f"existing ephemeral containers {quoted(name)} may not be removed\n")
        elif after[name] != container:
            difference = "\n".join(_difference(container, after[name], ""))
            detail = f"existing ephemeral containers {quoted(name)} may not be changed\n{difference}"
            errors.forbidden(path, detail)
