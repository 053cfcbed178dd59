"""Constraints between the devices of a claim, and tolerations of device taints.

Mirrors: structured/internal allocator matchAttributeConstraint, distinctAttributeConstraint, taintPreventsAllocation;
resourceclaim/devicetoleration.go ToleratesTaint
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from kubesim.api.workloads.resource_claims import base_request
from kubesim.cluster.scheduling.plugins.devices.pools import DeviceOnNode
from kubesim.values import mutable

Json = Mapping[str, Any]
_KINDS = ("string", "int", "bool", "version")


@mutable(eq=False)
class Constraint:
    """All devices have the same value of an attribute (`distinct`: different values). `requests`: empty means all."""

    attribute: str
    requests: frozenset[str]
    distinct: bool = False
    values: list[tuple[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, constraint: Json) -> Constraint:
        requests = frozenset(constraint.get("requests") or ())
        if constraint.get("matchAttribute") is not None:
            return cls(constraint["matchAttribute"], requests)
        return cls(constraint.get("distinctAttribute") or "", requests, distinct=True)

    def _concerns(self, request: str) -> bool:
        return not self.requests or request in self.requests or base_request(request) in self.requests

    def add(self, request: str, device: DeviceOnNode) -> bool:
        """Whether the device satisfies the constraint. If so, it is added."""
        if not self._concerns(request):
            return True
        value = _attribute(device, self.attribute)
        if value is None or (value in self.values if self.distinct else any(value != each for each in self.values)):
            return False
        self.values.append(value)
        return True

    def remove(self, request: str) -> None:
        if self._concerns(request):
            self.values.pop()


def _attribute(device: DeviceOnNode, name: str) -> tuple[str, Any] | None:
    """The value of the attribute, by its full name, or without the domain if that is the driver."""
    attributes = device.device.get("attributes") or {}
    domain, _, own = name.partition("/")
    found = attributes.get(name) or (attributes.get(own) if domain == device.id[0] else None)
    return next(((kind, found[kind]) for kind in _KINDS if found.get(kind) is not None), None) if found else None


def tolerates_taints(device: Json, tolerations: Sequence[Json]) -> bool:
    taints = (taint for taint in device.get("taints") or () if taint.get("effect") in ("NoSchedule", "NoExecute"))
    return all(any(tolerates(toleration, taint) for toleration in tolerations) for taint in taints)


def tolerates(toleration: Json, taint: Json) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if (effect and effect != taint.get("effect")) or (key and key != taint.get("key")):
        return False
    operator = toleration.get("operator") or "Equal"
    same = toleration.get("value", "") == taint.get("value", "")
    return operator == "Exists" or (operator == "Equal" and same)
