"""The resize subresource: cpu and memory of a running pod may change, its QoS class may not.

Mirrors: pkg/apis/core/validation ValidatePodResize; pkg/registry/core/pod strategy.go dropNonResizeUpdates
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import CONFIG_MIRROR
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import compute_pod_qos, pod_qos_class
from kubesim.api.schema.codec import encode
from kubesim.api.validation.field import Errors, JsonObject, Named
from kubesim.api.validation.options import PodValidationOptions
from kubesim.cluster.registry.pod_updates import OPTIONS, spec_of, validate_metadata_and_spec

_RESIZABLE = ("cpu", "memory")
_ONLY = "only cpu and memory resources"
_NO_POD_LEVEL = (
    "resize of pods with pod-level resources is forbidden when "
    "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
)


def drop_other_updates(new: JsonObject, old: JsonObject) -> JsonObject:
    """The old spec with the new resources. Validation rejects containers that were added, renamed or moved."""
    spec, before = new["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind) or ()) != len(before.get(kind) or ()):
            return spec  # type: ignore[no-any-return]
    resized = dict(before)
    if spec.get("resources") is not None:
        resized["resources"] = spec["resources"]
    else:
        resized.pop("resources", None)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            resized[kind] = _with_new_resources(spec[kind], before[kind])
    return resized


def _with_new_resources(new: list[JsonObject], old: list[JsonObject]) -> list[JsonObject]:
    if [container.get("name") for container in new] != [container.get("name") for container in old]:
        return new
    return [
        {**before, "resources": after.get("resources") or {}, "resizePolicy": after.get("resizePolicy") or []}
        for after, before in zip(new, old, strict=True)
    ]


def validate_pod_resize(
    errors: Errors, new: JsonObject, old: JsonObject, options: PodValidationOptions = OPTIONS
) -> None:
    if CONFIG_MIRROR in (old["metadata"].get("annotations") or {}):
        errors.forbidden("", "static pods cannot be resized")
        return
    if (old["spec"].get("os") or {}).get("name") == "windows":
        errors.forbidden("", "windows pods cannot be resized")
        return
    validate_metadata_and_spec(errors, new, old)
    if pod_qos_class(Pod.from_json(old)) != compute_pod_qos(Pod.from_json(new)):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.invalid("spec", Named((new.get("status") or {}).get("qosClass", "")), detail)
    if not _is_supported(old):
        errors.forbidden("spec", "Pod running on node without support for resize")
    masked = dict(new["spec"])
    if _has_pod_level(new["spec"]) or _has_pod_level(old["spec"]):
        if not options.gates.enabled("InPlacePodLevelResourcesVerticalScaling"):
            errors.forbidden("", _NO_POD_LEVEL)
            return
        _validate_pod_level(errors, masked, old["spec"])
    if (old.get("status") or {}).get("nodeAllocatableResourceClaimStatuses"):
        errors.forbidden("spec", "pods with node allocatable resource claims cannot be resized")
    if _validate_order(errors, new["spec"], old["spec"]):
        resizable_init = options.gates.enabled("InPlacePodVerticalScalingInitContainers")
        _validate_containers(errors, masked, old["spec"], resizable_init)
        if not errors and encode("PodSpec", masked) != spec_of(old):
            errors.forbidden("spec", f"{_ONLY} are mutable")


def _is_supported(pod: JsonObject) -> bool:
    """Whether the node supports resize: it reports the resources of its running containers."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _validate_order(errors: Errors, new: JsonObject, old: JsonObject) -> bool:
    before = len(errors)
    for kind in ("containers", "initContainers"):
        after, previous = new.get(kind) or [], old.get(kind) or []
        if len(after) != len(previous):
            errors.forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize")
            continue
        for n, container in enumerate(previous):
            if after[n].get("name") != container.get("name"):
                errors.forbidden(f"spec.{kind}[{n}].name", f"{kind} may not be renamed or reordered on resize")
    return len(errors) == before


def _has_pod_level(spec: JsonObject) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _validate_pod_level(errors: Errors, masked: JsonObject, old: JsonObject) -> None:
    new, before = masked.get("resources"), old.get("resources")
    if before is not None and new is None:
        errors.forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    for kind in ("requests", "limits"):
        if _removed((new or {}).get(kind), (before or {}).get(kind)):
            errors.forbidden(f"spec.resources.{kind}", f"pod-level resource {kind} cannot be removed")
    kept = _with_old_cpu_and_memory(new or {}, before or {})
    masked["resources"] = None if before is None and not any(kept.values()) else kept
    if masked["resources"] is not None and _requirements(masked["resources"]) != _requirements(before or {}):
        errors.forbidden("spec", f"{_ONLY} are mutable at pod-level")


def _requirements(resources: JsonObject) -> JsonObject:
    return encode("ResourceRequirements", resources)


def _validate_containers(errors: Errors, masked: JsonObject, old: JsonObject, resizable_init: bool) -> None:
    for kind in ("initContainers", "containers"):
        for n, before in enumerate(old.get(kind) or ()):
            if not _is_resizable(before, kind, resizable_init):
                continue
            for what in ("requests", "limits"):
                if _removed((masked[kind][n].get("resources") or {}).get(what), _resources(before).get(what)):
                    errors.forbidden(f"spec.{kind}[{n}].resources.{what}", f"resource {what} cannot be removed")
    for kind in ("containers", "initContainers"):
        containers = []
        for n, (container, before) in enumerate(zip(masked.get(kind) or (), old.get(kind) or (), strict=True)):
            if not _is_resizable(container, kind, resizable_init):
                containers.append(container)
                if encode("Container", container) != encode("Container", before):
                    errors.forbidden("spec", "resources for non-sidecar init containers are immutable")
                continue
            kept = {**container, "resources": _with_old_cpu_and_memory(_resources(container), _resources(before))}
            containers.append(kept)
            if encode("Container", kept) != encode("Container", before):
                where, whose = ("spec", "") if kind == "containers" else (f"spec.{kind}[{n}]", _INIT)
                errors.forbidden(where, f"{_ONLY}{whose} are mutable")
            if kind == "initContainers" and container != before and _restarts_on_resize(container):
                errors.forbidden(f"spec.{kind}[{n}]", _NOT_RESTARTED)
        if kind in masked:
            masked[kind] = containers


def _is_resizable(container: JsonObject, kind: str, resizable_init: bool) -> bool:
    return resizable_init or kind == "containers" or container.get("restartPolicy") == "Always"


_INIT = " for init or sidecar containers"
_NOT_RESTARTED = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"


def _resources(container: JsonObject) -> JsonObject:
    return container.get("resources") or {}


def _restarts_on_resize(container: JsonObject) -> bool:
    if container.get("restartPolicy") == "Always":
        return False
    return any(policy.get("restartPolicy") == "RestartContainer" for policy in container.get("resizePolicy") or ())


def _with_old_cpu_and_memory(new: JsonObject, old: JsonObject) -> JsonObject:
    """The new spec with every change that a resize allows reverted. Any remaining difference is forbidden."""
    out: dict[str, Any] = {}
    for kind in ("limits", "requests"):
        others = {name: value for name, value in (new.get(kind) or {}).items() if name not in _RESIZABLE}
        out[kind] = others | {name: v for name, v in (old.get(kind) or {}).items() if name in _RESIZABLE}
    return out


def _removed(new: JsonObject | None, old: JsonObject | None) -> bool:
    return any(name not in (new or {}) for name in old or ())
