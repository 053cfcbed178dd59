"""`KindRules`: the rules of a kind in addition to those of all objects.

All functions take JSON objects from the decoder, and change or check them in place.

Mirrors: pkg/registry/*/strategy.go; pkg/apis/*/v1/defaults.go; pkg/apis/*/validation
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from kubesim.api.validation.field import Errors, JsonObject
from kubesim.values import value_object


def _nothing(*_: object) -> None: ...


@value_object
class KindRules:
    """The rules of a kind. `default` sets defaults, `prepare` sets the fields of a new object that clients cannot set.

    `validate` checks the state of new and updated objects, `validate_update` the immutable fields; `prepare_update`
    sets fields of the new state that depend on the old one. `validate_status` checks a new status.
    """

    default: Callable[[JsonObject], None] = _nothing
    prepare: Callable[[JsonObject], None] = _nothing
    validate: Callable[[Errors, JsonObject], None] = _nothing
    validate_update: Callable[[Errors, JsonObject, JsonObject], None] = _nothing
    has_generation: bool = True  # the generation increases with each change of the spec
    prepare_update: Callable[[JsonObject, JsonObject], None] = _nothing
    has_fixed_spec: bool = False  # only `validate_update` checks an update
    validate_status: Callable[[Errors, JsonObject, JsonObject], None] = _nothing


_MODULES: Mapping[str, str] = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "ReplicationController"), "replicas"),
    **dict.fromkeys(("StatefulSet", "DaemonSet", "ControllerRevision"), "sets"),
    **dict.fromkeys(("Job", "CronJob"), "batch"),
    **dict.fromkeys(("Service", "EndpointSlice"), "network_kinds.services"),
    "PodDisruptionBudget": "policy_kinds.policy",
    "NetworkPolicy": "network_kinds.network_policies",
    **dict.fromkeys(("Ingress", "IngressClass"), "network_kinds.ingresses"),
    **dict.fromkeys(("Endpoints", "PodTemplate"), "network_kinds.endpoints"),
    **dict.fromkeys(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), "policy_kinds.access"),
    "HorizontalPodAutoscaler": "policy_kinds.autoscalers",
    **dict.fromkeys(("LimitRange", "ResourceQuota"), "policy_kinds.quotas"),
    **dict.fromkeys(("PersistentVolumeClaim", "PersistentVolume"), "storage_kinds.storage"),
    **dict.fromkeys(("StorageClass", "VolumeAttributesClass", "VolumeAttachment"), "storage_kinds.storage"),
    **dict.fromkeys(("CSIDriver", "CSINode"), "storage_kinds.storage"),
    **dict.fromkeys(("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"), "device_kinds.devices"),
}


def rules_of(kind: str) -> KindRules | None:
    """The rules of a kind. None: it has none, or they are defined elsewhere (pods, nodes, ConfigMaps)."""
    module = _MODULES.get(kind)
    if module is None:
        return None
    rules: Mapping[str, KindRules] = import_module(f"kubesim.api.workloads.rules.{module}").RULES
    return rules[kind]
