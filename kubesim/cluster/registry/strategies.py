"""Create and update strategies of each kind: defaults, fields that are reset, validation.

They take decoded JSON objects. There is one strategy for each kind and subresource.

Mirrors: pkg/registry/*/strategy.go PrepareForCreate, PrepareForUpdate, ValidateUpdate; pkg/apis/*/v1/defaults.go
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from types import ModuleType

from kubesim.api.meta import ApiObject
from kubesim.api.pods.conversion import convert_pod
from kubesim.api.pods.defaults import set_pod_defaults
from kubesim.api.schema.codec import decode, encode
from kubesim.api.validation import validate_pod_create
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.metadata import validate_finalizer_names
from kubesim.api.workloads.rules.kind_rules import rules_of
from kubesim.cluster.registry.kind_rules import (
    check_base64,
    check_micro_time,
    validate_kind,
    validate_kind_update,
    validate_metadata_again,
)
from kubesim.cluster.registry.metadata_updates import validate_kubernetes_meta_update, validate_object_meta_update
from kubesim.cluster.registry.pod_updates import (
    OPTIONS,
    spec_of,
    validate_ephemeral_containers_update,
    validate_pod_update,
)
from kubesim.cluster.registry.resize import drop_other_updates, validate_pod_resize
from kubesim.cluster.registry.subresources.pod_status import validate_pod_status_update
from kubesim.cluster.store.kinds import RESOURCES, Resource, resource_of
from kubesim.cluster.wire import is_declared
from kubesim.values import value_object

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_KEPT_BY_SUBRESOURCES = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "generation")
# Metadata that a write of the status cannot change; of the other kinds it can.
_KEPT_BY_STATUS: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("labels",),
    "VolumeAttachment": _KEPT_BY_SUBRESOURCES,
    "ResourceClaim": _KEPT_BY_SUBRESOURCES,
}


def _undeclared() -> ModuleType:
    """The rules of kinds without a declared type. Imported late: most runs have no such kinds."""
    from kubesim.cluster.custom import rules

    return rules


def internal(resource: Resource, value: JsonObject) -> JsonObject:
    """A JSON value decoded by its type, with defaults; raises `DecodeError`."""
    if not is_declared(resource):
        read: JsonObject = _undeclared().read_undeclared(resource, value)
        return read
    obj: JsonObject = decode(resource.type_name, value)
    return _completed(resource, resource.conversion.to_stored(obj) if resource.converted else obj)


def _completed(resource: Resource, obj: JsonObject) -> JsonObject:
    """Apply the kind's defaults to a decoded object, in place."""
    obj.setdefault("metadata", {})
    match resource.kind:
        case "Pod":
            set_pod_defaults(obj)
            convert_pod(obj)
        case "Namespace":
            if obj["metadata"].get("name"):
                labels = obj["metadata"].get("labels") or {}
                obj["metadata"]["labels"] = {**labels, _NAMESPACE_LABEL: obj["metadata"]["name"]}
        case "ConfigMap":
            check_base64(obj.get("binaryData"))
        case "Secret":
            check_base64(obj.get("data"))
            _encode_string_data(obj)
            obj["type"] = obj.get("type") or "Opaque"
        case "Lease":
            for name in ("acquireTime", "renewTime"):
                check_micro_time((obj.get("spec") or {}).get(name))
        case "Event":
            check_micro_time(obj.get("eventTime"))
            check_micro_time((obj.get("series") or {}).get("lastObservedTime"))
        case "PriorityClass":
            obj.setdefault("preemptionPolicy", "PreemptLowerPriority")
        case "Node":
            status = obj.get("status") or {}
            if status.get("capacity") and not status.get("allocatable"):
                status["allocatable"] = dict(status["capacity"])
        case kind:
            rules = rules_of(kind)
            if rules is not None:
                rules.default(obj)
    return obj


def _encode_string_data(secret: JsonObject) -> None:
    """Move `stringData` to `data`: it is write-only."""
    text = secret.pop("stringData", None)
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}


def internal_of(resource: Resource, obj: ApiObject) -> JsonObject:
    """A stored object in the decoded form."""
    if not is_declared(resource):
        read: JsonObject = _undeclared().read_undeclared(resource, obj.to_json())
        return read
    return _completed(resource, decode(resource.kind, obj.to_json()))


# -- creation -------------------------------------------------------------------------------------------------------


def prepare_for_create(resource: Resource, obj: JsonObject, now: str) -> None:
    """Reset the fields that a client cannot set on a new object, in place."""
    if not is_declared(resource):
        _undeclared().prepare_create(resource, obj)
        return
    match resource.kind:
        case "Pod":
            obj["status"] = {"phase": "Pending"}  # the store sets the QoS class
            if obj["spec"].get("schedulingGates"):
                obj["status"]["conditions"] = [_gated(now)]
        case "Namespace":
            spec = obj.setdefault("spec", {})
            if "kubernetes" not in (spec.get("finalizers") or ()):
                spec["finalizers"] = [*(spec.get("finalizers") or ()), "kubernetes"]
            obj["status"] = {"phase": "Active"}
        case "PriorityClass":
            obj["metadata"]["generation"] = 1
        case kind:
            rules = rules_of(kind)
            if rules is not None:
                obj.pop("status", None)
                if rules.has_generation:
                    obj["metadata"]["generation"] = 1
                rules.prepare(obj)
                if kind == "PersistentVolume":
                    obj["status"]["lastPhaseTransitionTime"] = now


def _gated(now: str) -> JsonObject:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def validate_create(resource: Resource, obj: JsonObject) -> Errors:
    if resource.kind == "Pod":
        return validate_pod_create(obj, OPTIONS)
    errors = Errors()
    validate_kind(errors, resource, obj)
    if not is_declared(resource):
        _undeclared().validate_undeclared(errors, resource, obj)
        return errors
    rules = rules_of(resource.kind)
    if rules is not None:
        rules.validate(errors, obj)
    return errors


# -- updates --------------------------------------------------------------------------------------------------------


@value_object
class Strategy:
    """How to update a kind: `prepare` resets read-only fields in place, `validate` checks the result."""

    prepare: Callable[[JsonObject, JsonObject], None]
    validate: Callable[[Errors, JsonObject, JsonObject], None]


def _nothing(new: JsonObject, old: JsonObject) -> None:
    """Every field is writable."""


def _keep(*names: str) -> Callable[[JsonObject, JsonObject], None]:
    """A `prepare` that keeps the old values of these fields."""

    def prepare(new: JsonObject, old: JsonObject) -> None:
        for name in names:
            _take(new, old, name)

    return prepare


def _take(new: JsonObject, old: JsonObject, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def _bump_generation(new: JsonObject, old: JsonObject) -> None:
    if spec_of(new) != spec_of(old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _prepare_pod(new: JsonObject, old: JsonObject) -> None:
    _take(new, old, "status")
    _bump_generation(new, old)


def _prepare_pod_status(new: JsonObject, old: JsonObject) -> None:
    _take(new, old, "spec")
    _take(new["metadata"], old["metadata"], "ownerReferences")
    _take(new["metadata"], old["metadata"], "deletionTimestamp")
    status, before = new.setdefault("status", {}), old.get("status") or {}
    if not status.get("qosClass"):
        _take(status, before, "qosClass")
    _keep_observed_generations(status, before)


def _keep_observed_generations(status: JsonObject, before: JsonObject) -> None:
    """Keep observed generations that a client unaware of them would erase."""
    if not status.get("observedGeneration"):
        _take(status, before, "observedGeneration")
    known: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def _prepare_ephemeral(new: JsonObject, old: JsonObject) -> None:
    containers = new["spec"].get("ephemeralContainers") or []
    new["spec"] = {**old["spec"], "ephemeralContainers": containers}
    _prepare_subresource(new, old)


def _prepare_resize(new: JsonObject, old: JsonObject) -> None:
    new["spec"] = drop_other_updates(new, old)
    _prepare_subresource(new, old)


def _prepare_subresource(new: JsonObject, old: JsonObject) -> None:
    _take(new, old, "status")
    for name in _KEPT_BY_SUBRESOURCES:
        _take(new["metadata"], old["metadata"], name)
    _bump_generation(new, old)


def _prepare_workload(new: JsonObject, old: JsonObject) -> None:
    """Keep the status: a client writes only the spec. Increase the generation if the spec changed."""
    if "status" in old or "status" in new:
        _take(new, old, "status")
    rules = rules_of(old["kind"])
    if rules is not None:
        rules.prepare_update(new, old)
        if rules.has_generation and _workload_spec(new) != _workload_spec(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _workload_spec(obj: JsonObject) -> JsonObject:
    """The spec in a normalized form, for comparison."""
    return encode(obj["kind"], {"spec": obj.get("spec") or {}})


def _prepare_workload_status(new: JsonObject, old: JsonObject) -> None:
    _take(new, old, "spec")
    for name in _KEPT_BY_STATUS.get(old["kind"], ()):
        _take(new["metadata"], old["metadata"], name)


def _workload_rules(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    validate_metadata_again(errors, resource_of(old["kind"]), new["metadata"], old["metadata"])
    rules = rules_of(old["kind"])
    if rules is not None:
        if not rules.has_fixed_spec:
            rules.validate(errors, new)
        rules.validate_update(errors, new, old)


def _workload_status_rules(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    validate_kubernetes_meta_update(errors, new["metadata"], old["metadata"])
    rules = rules_of(old["kind"])
    if rules is not None:
        rules.validate_status(errors, new, old)


def _rules_of(kind: str, known: Resource | None = None) -> Callable[[Errors, JsonObject, JsonObject], None]:
    resource = known or RESOURCES[kind]

    def validate(errors: Errors, new: JsonObject, old: JsonObject) -> None:
        validate_metadata_again(errors, resource, new["metadata"], old["metadata"])
        validate_kind_update(errors, resource, new, old)

    return validate


def _namespace_finalizers(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    validate_kubernetes_meta_update(errors, new["metadata"], old["metadata"])
    validate_finalizer_names(errors, (new.get("spec") or {}).get("finalizers") or (), "spec.finalizers")


_STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    **{(kind, ""): Strategy(_nothing, _rules_of(kind)) for kind in RESOURCES},
    ("Pod", ""): Strategy(_prepare_pod, validate_pod_update),
    ("Pod", "status"): Strategy(_prepare_pod_status, validate_pod_status_update),
    ("Pod", "ephemeralcontainers"): Strategy(_prepare_ephemeral, validate_ephemeral_containers_update),
    ("Pod", "resize"): Strategy(_prepare_resize, validate_pod_resize),
    ("Node", ""): Strategy(_keep("status"), _rules_of("Node")),
    ("Node", "status"): Strategy(_keep("spec"), _rules_of("Node")),
    ("Namespace", ""): Strategy(_keep("spec", "status"), _rules_of("Namespace")),
    ("Namespace", "status"): Strategy(_keep("spec"), _rules_of("Namespace")),
    ("Namespace", "finalize"): Strategy(_keep("status"), _namespace_finalizers),
}


_WORKLOAD = Strategy(_prepare_workload, _workload_rules)
_WORKLOAD_STATUS = Strategy(_prepare_workload_status, _workload_status_rules)


def _undeclared_strategy(resource: Resource, subresource: str) -> Strategy:
    rules = _undeclared()

    def prepare(new: JsonObject, old: JsonObject) -> None:
        rules.prepare_update(resource, new, old)

    def validate(errors: Errors, new: JsonObject, old: JsonObject) -> None:
        validate_object_meta_update(errors, new["metadata"], old["metadata"])
        rules.validate_undeclared(errors, resource, new, old)

    return Strategy(rules.prepare_status_update if subresource == "status" else prepare, validate)


def strategy_of(resource: Resource, subresource: str) -> Strategy:
    if not is_declared(resource):
        return _undeclared_strategy(resource, subresource)
    if rules_of(resource.kind) is not None:
        return _WORKLOAD_STATUS if subresource == "status" else _WORKLOAD
    if resource.converted:
        return Strategy(_nothing, _rules_of(resource.kind, resource))
    return _STRATEGIES[(resource.kind, subresource)]
