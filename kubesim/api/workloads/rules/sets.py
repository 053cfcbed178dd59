"""Defaults and validation of StatefulSets, DaemonSets and ControllerRevisions.

Mirrors: pkg/apis/apps/v1/defaults.go; pkg/apis/apps/validation/validation.go; pkg/registry/apps/{statefulset,daemonset}
strategy.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.schema.codec import encode
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, FieldError, JsonObject, Named, Raw
from kubesim.api.validation.metadata import validate_label_selector
from kubesim.api.validation.structs import label_selector_json
from kubesim.api.validation.volumes.claim_template import validate_claim_spec
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.api.workloads.rules.pod_templates import (
    DOES_NOT_MATCH,
    IMMUTABLE,
    default_pod_template,
    is_empty_selector,
    percentage,
    selector_matches,
    validate_at_most_100_percent,
    validate_immutable_selector,
    validate_int_or_percent,
    validate_matching_labels,
    validate_pod_template,
)
from kubesim.golang.json import InOrder, dumps

GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"

_ROLLING, _ON_DELETE = "RollingUpdate", "OnDelete"
_POLICIES = ("OrderedReady", "Parallel")
_RETENTION = ("Retain", "Delete")
_CHANGEABLE = ("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
               "persistentVolumeClaimRetentionPolicy", "minReadySeconds")  # fmt: skip
_UNCHANGEABLE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_HISTORY_LIMIT = 10


# -- StatefulSet ----------------------------------------------------------------------------------------------------


def _default_stateful_set(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    default_pod_template(spec.setdefault("template", {}))
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
        strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
    if strategy["type"] == _ROLLING and strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec["persistentVolumeClaimRetentionPolicy"] = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for moment in ("whenDeleted", "whenScaled"):
        retention[moment] = retention.get(moment) or "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _HISTORY_LIMIT)
    for claim in spec.get("volumeClaimTemplates") or ():
        _default_claim_template(claim)


def _default_claim_template(claim: JsonObject) -> None:
    claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
    claim.setdefault("metadata", {})
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    status = claim.setdefault("status", {})
    status["phase"] = status.get("phase") or "Pending"


def _prepare_stateful_set(obj: JsonObject) -> None:
    """Drop the field maxUnavailable: its feature gate is off."""
    _prepare_stateful_set_update(obj, {})


def _prepare_stateful_set_update(new: JsonObject, old: JsonObject) -> None:
    in_use = (((old.get("spec") or {}).get("updateStrategy") or {}).get("rollingUpdate") or {}).get("maxUnavailable")
    rolling = new["spec"]["updateStrategy"].get("rollingUpdate")
    if rolling is not None and in_use is None:
        rolling.pop("maxUnavailable", None)


def _validate_stateful_set(errors: Errors, obj: JsonObject) -> None:
    _validate_label_name(errors, obj["metadata"].get("name", ""))
    spec = obj["spec"]
    policy = spec.get("podManagementPolicy", "")
    if policy not in _POLICIES:
        errors.invalid("spec.podManagementPolicy", Named(policy), "must be 'OrderedReady' or 'Parallel'")
    _validate_stateful_set_strategy(errors, spec["updateStrategy"], "spec.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for moment in ("whenDeleted", "whenScaled"):
        path = f"spec.persistentVolumeClaimRetentionPolicy.{moment}"
        errors.unless_one_of(path, retention.get(moment, ""), _RETENTION)
    for n, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        validate_claim_spec(errors, claim.get("spec") or {}, f"spec.volumeClaimTemplates[{n}].spec")
    errors.nonnegative("spec.replicas", spec.get("replicas", 0))
    errors.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds", 0))
    errors.nonnegative("spec.ordinals.start", (spec.get("ordinals") or {}).get("start", 0))
    service = spec.get("serviceName", "")
    if service:
        errors.all_invalid("spec.serviceName", service, formats.dns1123_label(service))
    if _validate_stateful_set_selector(errors, spec.get("selector")):
        completed = _completed_template(spec)
        validate_matching_labels(errors, completed, spec.get("selector"), "spec.template")
        validate_pod_template(errors, completed, "spec.template")
    _validate_always_running(errors, spec["template"]["spec"], "StatefulSet")


def _validate_stateful_set_selector(errors: Errors, selector: JsonObject | None) -> bool:
    """Validate the selector. Returns whether it can be compared with labels."""
    if selector is None:
        errors.required("spec.selector")
        return True
    before = len(errors)
    validate_label_selector(errors, selector, "spec.selector")
    understood = len(errors) == before
    if is_empty_selector(selector):
        detail = "empty selector is invalid for statefulset"
        errors.invalid("spec.selector", Raw(label_selector_json(selector)), detail)
    if not understood:
        errors.invalid("spec.selector", Raw(label_selector_json(selector)), "")
    return understood


def _validate_always_running(errors: Errors, pod_spec: JsonObject, kind: str) -> None:
    errors.unless_one_of("spec.template.spec.restartPolicy", pod_spec.get("restartPolicy", ""), ("Always",))
    if pod_spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.forbidden("spec.template.spec.activeDeadlineSeconds", detail)


def _completed_template(spec: JsonObject) -> JsonObject:
    """The template as the controller completes it: with the volumes of claim templates, without host name and
    subdomain.
    """
    template: JsonObject = spec["template"]
    names = [(claim.get("metadata") or {}).get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    volumes += [volume for volume in template["spec"].get("volumes") or () if volume.get("name") not in names]
    pod_spec = {name: value for name, value in template["spec"].items() if name not in ("hostname", "subdomain")}
    return {**template, "spec": {**pod_spec, "volumes": volumes}}


def _validate_stateful_set_strategy(errors: Errors, strategy: JsonObject, path: str) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == _ON_DELETE:
        if rolling is not None:
            detail = f"only allowed for updateStrategy '{_ROLLING}'"
            errors.invalid(f"{path}.rollingUpdate", Raw(_stateful_rolling(rolling)), detail)
    elif kind == _ROLLING:
        if rolling is not None:
            errors.nonnegative(f"{path}.rollingUpdate.partition", rolling.get("partition", 0))
    else:
        shown = f'{{"Type":{dumps(kind)},"RollingUpdate":{_stateful_rolling(rolling)}}}'
        errors.invalid(path, Raw(shown), f"must be '{_ROLLING}' or '{_ON_DELETE}'")


def _stateful_rolling(rolling: JsonObject | None) -> str:
    """A rolling update in the format of the API server's internal type."""
    if rolling is None:
        return "null"
    shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
    return dumps(InOrder(shown))


def _validate_label_name(errors: Errors, name: str) -> None:
    """Check that the name is a DNS label, instead of the general rule, because host names of pods begin with it."""
    complaints = formats.dns1123_label(name) if name else ()
    if not complaints:
        return
    general = [error for error in errors if error.field == "metadata.name"]
    index = errors.index(general[0]) if general else 0
    errors[:] = [error for error in errors if error not in general]
    errors[index:index] = [FieldError("Invalid value", "metadata.name", name, complaint) for complaint in complaints]


def _validate_stateful_set_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    fixed = [
        {name: value for name, value in obj["spec"].items() if name not in _CHANGEABLE} | {"template": {}}
        for obj in (new, old)
    ]
    if encode("StatefulSetSpec", fixed[0]) != encode("StatefulSetSpec", fixed[1]):
        errors.forbidden("spec", _UNCHANGEABLE)


# -- DaemonSet ------------------------------------------------------------------------------------------------------


def _default_daemon_set(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    default_pod_template(spec.setdefault("template", {}))
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or _ROLLING
    if strategy["type"] == _ROLLING:
        rolling = strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", _HISTORY_LIMIT)


def _prepare_daemon_set(obj: JsonObject) -> None:
    _set_generation(obj, max(1, _generation(obj)))


def _prepare_daemon_set_update(new: JsonObject, old: JsonObject) -> None:
    """Set the template generation, which only the server increases, with each change of the template."""
    templates = [encode("PodTemplateSpec", obj["spec"]["template"]) for obj in (new, old)]
    _set_generation(new, _generation(old) + (templates[0] != templates[1]))


def _generation(obj: JsonObject) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(GENERATION_ANNOTATION, "")
    return int(text) if text.removeprefix("-").isdecimal() else 0


def _set_generation(obj: JsonObject, generation: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, GENERATION_ANNOTATION: str(generation)}


def _validate_daemon_set(errors: Errors, obj: JsonObject) -> None:
    spec = obj["spec"]
    selector, template = spec.get("selector"), spec["template"]
    before = len(errors)
    validate_label_selector(errors, selector, "spec.selector")
    labels = (template.get("metadata") or {}).get("labels")
    if len(errors) == before and not selector_matches(selector, labels or {}):
        errors.invalid("spec.template.metadata.labels", labels, DOES_NOT_MATCH)
    if is_empty_selector(selector):
        detail = "empty selector is invalid for daemonset"
        errors.invalid("spec.selector", Raw(label_selector_json(selector or {})), detail)
    validate_pod_template(errors, template, "spec.template")
    _validate_always_running(errors, template["spec"], "DaemonSet")
    errors.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds", 0))
    _validate_daemon_set_strategy(errors, spec["updateStrategy"], "spec.updateStrategy")
    errors.nonnegative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit") or 0)


def _validate_daemon_set_strategy(errors: Errors, strategy: JsonObject, path: str) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == _ROLLING:
        _validate_daemon_set_rolling(errors, rolling or {}, f"{path}.rollingUpdate")
    elif kind != _ON_DELETE:
        shown = {"Type": kind, "RollingUpdate": rolling and _daemon_rolling(rolling)}
        detail = f'supported values: "{_ROLLING}", "{_ON_DELETE}"'
        errors.append(FieldError("Unsupported value", path, Raw(dumps(InOrder(shown))), detail))


def _daemon_rolling(rolling: JsonObject) -> JsonObject:
    return InOrder(MaxUnavailable=rolling.get("maxUnavailable", 0), MaxSurge=rolling.get("maxSurge", 0))


def _validate_daemon_set_rolling(errors: Errors, rolling: JsonObject, path: str) -> None:
    """Check that exactly one of maxUnavailable and maxSurge is greater than zero."""
    names = ("maxUnavailable", "maxSurge")
    for name in names:
        validate_int_or_percent(errors, rolling.get(name), f"{path}.{name}")
    for name in names:
        validate_at_most_100_percent(errors, rolling.get(name), f"{path}.{name}")
    unavailable, surge = (_number(rolling.get(name)) != 0 for name in names)
    if unavailable and surge:
        value = rolling["maxSurge"]
        shown = Named(value) if isinstance(value, str) else value
        errors.invalid(f"{path}.maxSurge", shown, "may not be set when maxUnavailable is non-zero")
    elif not unavailable and not surge:
        errors.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _number(value: int | str | None) -> int:
    """The number in a count or percentage; other text counts as 0."""
    return percentage(value) or 0 if isinstance(value, str) else value or 0


def _validate_daemon_set_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    """Report changes of immutable fields before errors in the new spec."""
    found = Errors()
    validate_immutable_selector(found, new["spec"].get("selector"), old["spec"].get("selector"), "spec.selector")
    index = sum(error.field.startswith("metadata.") for error in errors)
    errors[index:index] = found


# -- ControllerRevision ---------------------------------------------------------------------------------------------


def _validate_revision(errors: Errors, obj: JsonObject) -> None:
    errors.nonnegative("revision", obj.get("revision", 0))
    if obj.get("data") is None:
        errors.required("data", "data is mandatory")


def _validate_revision_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    if new.get("data") != old.get("data"):
        errors.invalid("data", Raw(dumps(new.get("data"))), IMMUTABLE)


RULES: Mapping[str, KindRules] = {
    "StatefulSet": KindRules(
        default=_default_stateful_set,
        prepare=_prepare_stateful_set,
        prepare_update=_prepare_stateful_set_update,
        validate=_validate_stateful_set,
        validate_update=_validate_stateful_set_update,
    ),
    "DaemonSet": KindRules(
        default=_default_daemon_set,
        prepare=_prepare_daemon_set,
        prepare_update=_prepare_daemon_set_update,
        validate=_validate_daemon_set,
        validate_update=_validate_daemon_set_update,
    ),
    "ControllerRevision": KindRules(
        validate=_validate_revision, validate_update=_validate_revision_update, has_generation=False
    ),
}
