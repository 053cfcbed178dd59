"""Defaults and validation of Deployments, ReplicaSets and ReplicationControllers.

Mirrors: pkg/apis/apps/v1/defaults.go; pkg/apis/apps/validation/validation.go ValidateDeployment, ValidateReplicaSet;
pkg/apis/core/validation ValidateReplicationController
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.validation.field import Errors, FieldError, JsonObject, Named, Raw
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.api.workloads.rules.pod_templates import (
    default_pod_template,
    percentage,
    validate_always_running_template,
    validate_at_most_100_percent,
    validate_immutable_selector,
    validate_int_or_percent,
    validate_selector,
)
from kubesim.golang.json import dumps

_EMPTY_SELECTOR = "empty selector is invalid for deployment"  # upstream uses this text for ReplicaSets, too
_STRATEGIES = ("Recreate", "RollingUpdate")


# -- defaults -------------------------------------------------------------------------------------------------------


def _default_deployment(deployment: JsonObject) -> None:
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
        strategy["rollingUpdate"].setdefault("maxUnavailable", "25%")
        strategy["rollingUpdate"].setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_pod_template(spec.setdefault("template", {}))


def _default_replica_set(replica_set: JsonObject) -> None:
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_pod_template(spec.setdefault("template", {}))


def _default_replication_controller(controller: JsonObject) -> None:
    spec, metadata = controller.setdefault("spec", {}), controller["metadata"]
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    default_pod_template(template)
    labels = template["metadata"].get("labels")
    if labels is not None:
        spec["selector"] = spec.get("selector") or dict(labels)
        metadata["labels"] = metadata.get("labels") or dict(labels)


def _prepare_deployment_update(new: JsonObject, old: JsonObject) -> None:
    """Increase the generation also if annotations changed, because they are copied to the ReplicaSets."""
    before, after = (obj["metadata"].get("annotations") or {} for obj in (old, new))
    if before != after:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


# -- validation -----------------------------------------------------------------------------------------------------


def _validate_deployment(errors: Errors, deployment: JsonObject) -> None:
    spec = deployment["spec"]
    selector, min_ready = spec.get("selector"), spec.get("minReadySeconds", 0)
    errors.nonnegative("spec.replicas", spec["replicas"])
    if validate_selector(errors, selector, "spec.selector", _EMPTY_SELECTOR):
        validate_always_running_template(errors, spec["template"], selector, "spec.template", "ReplicaSet")
    _validate_strategy(errors, spec["strategy"], "spec.strategy")
    errors.nonnegative("spec.minReadySeconds", min_ready)
    errors.nonnegative("spec.revisionHistoryLimit", spec["revisionHistoryLimit"])
    deadline = spec["progressDeadlineSeconds"]
    errors.nonnegative("spec.progressDeadlineSeconds", deadline)
    if deadline <= min_ready:
        errors.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _validate_strategy(errors: Errors, strategy: JsonObject, path: str) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "Recreate":
            if rolling is not None:
                errors.forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            _validate_rolling_update(errors, rolling or {}, f"{path}.rollingUpdate")
        case unknown:
            supported = ", ".join(f'"{name}"' for name in _STRATEGIES)
            shown = Raw(f'{{"Type":{dumps(unknown)},"RollingUpdate":{_rolling_update_json(rolling)}}}')
            errors.append(FieldError("Unsupported value", path, shown, f"supported values: {supported}"))


def _rolling_update_json(rolling: JsonObject | None) -> str:
    if rolling is None:
        return "null"
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    return f'{{"MaxUnavailable":{dumps(unavailable)},"MaxSurge":{dumps(surge)}}}'


def _validate_rolling_update(errors: Errors, rolling: JsonObject, path: str) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    validate_int_or_percent(errors, unavailable, f"{path}.maxUnavailable")
    validate_int_or_percent(errors, surge, f"{path}.maxSurge")
    if _amount(unavailable) == 0 and _amount(surge) == 0:
        shown = Named(unavailable) if isinstance(unavailable, str) else unavailable
        errors.invalid(f"{path}.maxUnavailable", shown, "may not be 0 when `maxSurge` is 0")
    validate_at_most_100_percent(errors, unavailable, f"{path}.maxUnavailable")


def _amount(value: int | str | None) -> int:
    """The number in a count or percentage; other text counts as 0."""
    if isinstance(value, str):
        return percentage(value) or 0
    return value or 0


def _validate_replica_set(errors: Errors, replica_set: JsonObject) -> None:
    spec = replica_set["spec"]
    selector = spec.get("selector")
    errors.nonnegative("spec.replicas", spec["replicas"])
    errors.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds", 0))
    if validate_selector(errors, selector, "spec.selector", _EMPTY_SELECTOR):
        validate_always_running_template(errors, spec["template"], selector, "spec.template", "ReplicaSet")


def _validate_replication_controller(errors: Errors, controller: JsonObject) -> None:
    spec = controller["spec"]
    errors.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds", 0))
    if not spec.get("selector"):
        errors.required("spec.selector")
    errors.nonnegative("spec.replicas", spec["replicas"])
    template = spec.get("template")
    if template is None:
        errors.required("spec.template")
        return
    selector = {"matchLabels": spec.get("selector") or {}}
    validate_always_running_template(errors, template, selector, "spec.template", "ReplicationController")


def _validate_selector_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    validate_immutable_selector(errors, new["spec"].get("selector"), old["spec"].get("selector"), "spec.selector")


RULES: Mapping[str, KindRules] = {
    "Deployment": KindRules(
        default=_default_deployment,
        prepare_update=_prepare_deployment_update,
        validate=_validate_deployment,
        validate_update=_validate_selector_update,
    ),
    "ReplicaSet": KindRules(
        default=_default_replica_set, validate=_validate_replica_set, validate_update=_validate_selector_update
    ),
    "ReplicationController": KindRules(
        default=_default_replication_controller, validate=_validate_replication_controller
    ),
}
