"""Validation of kinds other than Pod, for new and for updated objects.

The functions take JSON objects with defaults and add errors in the API's order.

Mirrors: pkg/apis/core/validation ValidateNode, ValidateNodeUpdate, ValidateConfigMap, ValidateSecret,
ValidateEventCreate; pkg/apis/{coordination,scheduling,node}/validation
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping

from kubesim.api.schema.codec import DecodeError
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, FieldError, JsonObject, Raw
from kubesim.api.validation.metadata import validate_labels, validate_object_meta
from kubesim.cluster.events.validation import validate_event, validate_event_update
from kubesim.cluster.registry.metadata_updates import FIELD_IS_IMMUTABLE, validate_kubernetes_meta_update
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.wire import json_text
from kubesim.golang import json as gojson
from kubesim.golang.text import quoted

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_FREELY_NAMED = ("Event", "PodDisruptionBudget", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
# Kinds whose changed metadata is validated like that of a new object, in addition to the rules of updates or instead.
_AS_NEW = frozenset((
    "ConfigMap", "Secret", "ServiceAccount", "Endpoints", "PersistentVolumeClaim", "Node", "VolumeAttributesClass",
    "Ingress", "IngressClass", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
))  # fmt: skip
_ONLY_AS_NEW = frozenset((
    "LimitRange", "PersistentVolume", "EndpointSlice", "CSINode", "VolumeAttachment", "PodDisruptionBudget",
))  # fmt: skip
_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_DATA_MAX = 1024 * 1024
_DOCKER_KEYS = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
_NO_MAP = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_MICROSECONDS = re.compile(r"\.\d{6}(Z|[+-]\d\d:\d\d)")


# -- reading --------------------------------------------------------------------------------------------------------


def check_base64(values: Mapping[str, str] | None) -> None:
    for value in (values or {}).values():
        found = re.match(r"[A-Za-z0-9+/\r\n]*", value)
        end = found.end() if found else 0
        if value[end:].strip("=\r\n") or len(re.sub(r"[\r\n]", "", value)) % 4:
            raise DecodeError(f"illegal base64 data at input byte {end}")


def check_micro_time(text: str | None) -> None:
    """A MicroTime needs exactly six fractional digits; otherwise the whole time is invalid."""
    if text is None:
        return
    found = _SECONDS.match(text)
    rest = text[found.end() :] if found else text
    if found is None or not _MICROSECONDS.fullmatch(rest):
        wanted = ".000000" if found else "2006"
        layout = quoted(_MICRO_LAYOUT)
        raise DecodeError(f'parsing time {quoted(text)} as {layout}: cannot parse {quoted(rest)} as "{wanted}"')


# -- new objects ----------------------------------------------------------------------------------------------------


def validate_kind(errors: Errors, resource: Resource, obj: JsonObject) -> None:
    """Validate a new object of any kind but Pod."""
    metadata = obj["metadata"]
    if resource.kind == "Namespace" and metadata.get("name"):
        complaints = formats.dns1123_label(metadata["name"])
        if complaints:
            errors.all_invalid("metadata.name", metadata["name"], complaints)
            return
    _validate_metadata(errors, resource, metadata)
    if resource.kind == "Event":
        validate_event(errors, obj, strict=resource.converted)
    rule = _RULES.get(resource.kind)
    if rule is not None:
        rule(errors, obj)


def _validate_metadata(errors: Errors, resource: Resource, metadata: JsonObject) -> None:
    if not resource.namespaced:
        metadata = {**metadata, "namespace": "default"}
    name = metadata.get("name")
    if resource.kind in _FREELY_NAMED and name:
        if resource.kind != "Event":
            errors.all_invalid("metadata.name", name, formats.path_segment(name))
        metadata = {**metadata, "name": "any", "generateName": ""}
    validate_object_meta(errors, metadata, "metadata")


def validate_metadata_again(errors: Errors, resource: Resource, new: JsonObject, old: JsonObject) -> None:
    """Validate changed metadata by the rules of the kind, after those of all objects: upstream reports both."""
    if resource.kind not in _ONLY_AS_NEW:
        validate_kubernetes_meta_update(errors, new, old)
    if resource.kind in _AS_NEW or (resource.kind in _ONLY_AS_NEW and resource.kind != "PodDisruptionBudget"):
        _validate_metadata(errors, resource, new)


def _validate_data(errors: Errors, obj: JsonObject) -> None:
    for field in ("data", "binaryData"):
        for key in obj.get(field) or {}:
            errors.all_invalid(f"{field}[{key}]", key, formats.config_map_key(key))
            if field == "data" and key in (obj.get("binaryData") or {}):
                errors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")


def _validate_config_map(errors: Errors, config_map: JsonObject) -> None:
    _validate_data(errors, config_map)
    values = [value.encode(errors="replace") for value in (config_map.get("data") or {}).values()]
    values += [base64.b64decode(value) for value in (config_map.get("binaryData") or {}).values()]
    if sum(map(len, values)) > _DATA_MAX:
        errors.too_long("[]", _DATA_MAX)


def _validate_secret(errors: Errors, secret: JsonObject) -> None:
    _validate_data(errors, secret)
    data = {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}
    if sum(map(len, data.values())) > _DATA_MAX:
        errors.too_long("data", _DATA_MAX)
    kind = secret.get("type")
    if kind == "kubernetes.io/service-account-token":
        if not (secret["metadata"].get("annotations") or {}).get(_ACCOUNT_NAME):
            errors.required(f"metadata.annotations[{_ACCOUNT_NAME}]")
    elif kind in _DOCKER_KEYS:
        _validate_docker_config(errors, data.get(_DOCKER_KEYS[kind]), f"data[{_DOCKER_KEYS[kind]}]")
    elif kind == "kubernetes.io/basic-auth":
        for key in ("username", "password") if not {"username", "password"} & data.keys() else ():
            errors.required(f"data[{key}]")
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            errors.required("data[ssh-privatekey]")
    elif kind == "kubernetes.io/tls":
        for key in ("tls.crt", "tls.key"):
            if key not in data:
                errors.required(f"data[{key}]")


def _validate_docker_config(errors: Errors, content: bytes | None, path: str) -> None:
    """The content must be a JSON object; the message does not show it."""
    if content is None:
        errors.required(path)
        return
    try:
        value = gojson.loads(content.decode(errors="replace"))
        problem = "" if isinstance(value, dict | None) else _NO_MAP.format(gojson.kind_of(value))
    except ValueError as error:
        problem = str(error)
    if problem:
        errors.invalid(path, "<secret contents redacted>", problem)


def _validate_taints(errors: Errors, node: JsonObject) -> None:
    """(Upstream reports this wrong path.)"""
    seen: set[tuple[str, str]] = set()
    for n, taint in enumerate((node.get("spec") or {}).get("taints") or ()):
        path = f"metadata.taints[{n}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        errors.all_invalid(f"{path}.key", key, formats.label_key(key))
        errors.all_invalid(f"{path}.value", value, formats.label_value(value))
        if not effect:
            errors.required(f"{path}.effect")
        else:
            errors.unless_one_of(f"{path}.effect", effect, _TAINT_EFFECTS)
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            detail = "taints must be unique by key and effect pair"
            errors.append(FieldError("Duplicate value", path, Raw(json_text(shown)), detail))
        seen.add((key, effect))


def _validate_lease(errors: Errors, lease: JsonObject) -> None:
    spec = lease.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        errors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        errors.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _validate_priority_class(errors: Errors, priority_class: JsonObject) -> None:
    name, value = priority_class["metadata"].get("name", ""), priority_class.get("value", 0)
    if name.startswith("system-"):
        if SYSTEM_PRIORITIES.get(name) != value:
            known = "is not a known system priority class" if name not in SYSTEM_PRIORITIES else "has another value"
            detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
            errors.forbidden("metadata.name", f"{detail}{name} {known}")
    elif value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.forbidden("value", detail)
    policy = priority_class.get("preemptionPolicy")
    if policy is not None:
        errors.unless_one_of("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def _validate_runtime_class(errors: Errors, runtime_class: JsonObject) -> None:
    handler = runtime_class.get("handler", "")
    if not handler:
        errors.required("handler")
    else:
        errors.all_invalid("handler", handler, formats.dns1123_label(handler))
    scheduling = runtime_class.get("scheduling") or {}
    validate_labels(errors, scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")


_RULES: Mapping[str, Callable[[Errors, JsonObject], None]] = {
    "ConfigMap": _validate_config_map,
    "Secret": _validate_secret,
    "Node": _validate_taints,
    "Lease": _validate_lease,
    "PriorityClass": _validate_priority_class,
    "RuntimeClass": _validate_runtime_class,
}


# -- updates --------------------------------------------------------------------------------------------------------


def validate_kind_update(errors: Errors, resource: Resource, new: JsonObject, old: JsonObject) -> None:
    """Validate a changed object beyond its metadata."""
    match resource.kind:
        case "Node":
            _validate_node_update(errors, new, old)
        case "ConfigMap" | "Secret":
            _validate_data_update(errors, new, old)
        case "PriorityClass":
            if new.get("value", 0) != old.get("value", 0):
                errors.forbidden("value", "may not be changed in an update.")
            _validate_immutable(errors, new, old, "preemptionPolicy")
        case "RuntimeClass":
            _validate_immutable(errors, new, old, "handler")
        case "Event":
            validate_event_update(errors, new, old, strict=resource.converted)
    rule = _RULES.get(resource.kind)
    if rule is not None and resource.kind not in ("PriorityClass", "RuntimeClass"):
        rule(errors, new)


def _validate_immutable(errors: Errors, new: JsonObject, old: JsonObject, field: str) -> None:
    if new.get(field) != old.get(field):
        errors.invalid(field, new.get(field), FIELD_IS_IMMUTABLE)


def _validate_node_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    _validate_taints(errors, new)
    seen = []
    for n, address in enumerate((new.get("status") or {}).get("addresses") or ()):
        if address in seen:
            shown = {"Type": address.get("type", ""), "Address": address.get("address", "")}
            errors.duplicate(f"status.addresses[{n}]", Raw(json_text(shown)))
        seen.append(address)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if before.get("podCIDRs") and before["podCIDRs"] != (spec.get("podCIDRs") or []):
        errors.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and before["providerID"] != spec.get("providerID", ""):
        errors.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


def _validate_data_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    """Reject changes of immutable ConfigMaps and Secrets."""
    _validate_immutable(errors, new, old, "type")
    if not old.get("immutable"):
        return
    detail = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        errors.forbidden("immutable", detail)
    for field in ("data", "binaryData"):
        if (new.get(field) or {}) != (old.get(field) or {}):
            errors.forbidden(field, detail)
