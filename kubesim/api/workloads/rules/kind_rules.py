"""`KindRules`: what a kind that controllers act on adds to the rules that hold for every object.

All functions take JSON objects as the decoder gives them, and change or check them in place.

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
    """`default` fills in what a client left out, `prepare` sets what a client cannot decide about a new object.

    `validate` checks a new object and the new state of an old one, `validate_update` what cannot change;
    `prepare_update` sets in the new state what follows from the old one. `validate_status` checks a new status.
    """

    default: Callable[[JsonObject], None] = _nothing
    prepare: Callable[[JsonObject], None] = _nothing
    validate: Callable[[Errors, JsonObject], None] = _nothing
    validate_update: Callable[[Errors, JsonObject, JsonObject], None] = _nothing
    has_generation: bool = True  # it grows with each change of the spec
    prepare_update: Callable[[JsonObject, JsonObject], None] = _nothing
    has_fixed_spec: bool = False  # an update is checked by `validate_update` alone
    validate_status: Callable[[Errors, JsonObject, JsonObject], None] = _nothing


_MODULES: Mapping[str, str] = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "ReplicationController"), "replicas"),
    **dict.fromkeys(("StatefulSet", "DaemonSet", "ControllerRevision"), "sets"),
    **dict.fromkeys(("Job", "CronJob"), "batch"),
    **dict.fromkeys(("Service", "EndpointSlice"), "services"),
    "PodDisruptionBudget": "policy",
    **dict.fromkeys(
        ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSIDriver", "CSINode", "VolumeAttachment"),
        "storage_kinds.storage",
    ),
    **dict.fromkeys(("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"), "device_kinds.devices"),
}


def rules_of(kind: str) -> KindRules | None:
    """None: the kind has no rules of its own, or they are elsewhere (pods, nodes, ConfigMaps)."""
    module = _MODULES.get(kind)
    if module is None:
        return None
    rules: Mapping[str, KindRules] = import_module(f"kubesim.api.workloads.rules.{module}").RULES
    return rules[kind]
