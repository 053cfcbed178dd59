"""A DRA driver with scripted responses, and a DRA manager that uses one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import SimpleNamespace
from typing import Any, cast

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.clock import LoopClock
from kubesim.errors import ApiError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.cm.dra.claim_info import ClaimInfo
from kubesim.kubelet.cm.dra.health_info import DeviceHealthReport
from kubesim.kubelet.cm.dra.manager import DraManager
from kubesim.kubelet.cm.dra.plugin import ClaimResult, DraClaim, DraPluginError, PreparedDevice
from kubesim.values import part

NAMESPACE, POD_UID, CLAIM_UID = "test-namespace", "test-pod-uid", "test-reserved"
DRIVER, POOL, DEVICE, CDI_ID = "test-driver", "test-pool", "test-device", "vendor.com/class=device"
PREPARED = PreparedDevice(POOL, DEVICE, ("test-request",), (CDI_ID,))


@part
class FakeDriver:
    """`answers` are responses by claim; None: a default response for each. `problem`: the whole call fails."""

    name: str = DRIVER
    answers: Mapping[str, ClaimResult] | None = None
    problem: str = ""
    prepared: list[Sequence[DraClaim]] = field(default_factory=list)
    unprepared: list[Sequence[DraClaim]] = field(default_factory=list)

    def health(self) -> Sequence[DeviceHealthReport]:
        return ()

    async def node_prepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]:
        self.prepared.append(claims)
        return self._answer(claims, ClaimResult(devices=(PREPARED,)))

    async def node_unprepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]:
        self.unprepared.append(claims)
        return self._answer(claims, ClaimResult())

    def _answer(self, claims: Sequence[DraClaim], usual: ClaimResult) -> Mapping[str, ClaimResult]:
        if self.problem:
            raise DraPluginError(self.problem)
        return {claim.uid: usual for claim in claims} if self.answers is None else self.answers


def resource_claim(
    name: str = "claim", *, uid: str = CLAIM_UID, drivers: Sequence[str] = (DRIVER,), pods: Sequence[str] = (POD_UID,)
) -> ApiObject:
    """An allocated claim that is reserved for these pods."""
    results = [{"request": "test-request", "driver": each, "pool": POOL, "device": DEVICE} for each in drivers]
    reserved = [{"resource": "pods", "name": pod, "uid": pod} for pod in pods]
    value = {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid},
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": reserved},
    }
    return ApiObject.from_json(value)


def claiming_pod(*claims: str, uid: str = POD_UID, status: Mapping[str, Any] | None = None) -> Pod:
    """A pod whose only container uses these claims."""
    return Pod.from_json(
        {
            "metadata": {"name": "test-pod", "namespace": NAMESPACE, "uid": uid},
            "spec": {
                "resourceClaims": [{"name": claim, "resourceClaimName": claim} for claim in claims],
                "containers": [{"name": "main", "resources": {"claims": [{"name": claim} for claim in claims]}}],
            },
            "status": status or {},
        }
    )


def claim_info(
    name: str = "claim",
    *,
    uid: str = CLAIM_UID,
    pods: Sequence[str] = (POD_UID,),
    prepared: bool = False,
    devices: Sequence[PreparedDevice] = (PREPARED,),
    driver: str = DRIVER,
) -> ClaimInfo:
    return ClaimInfo(DraClaim(NAMESPACE, uid, name), dict.fromkeys(pods), {driver: tuple(devices)}, prepared)


def dra_manager(
    *claims: ApiObject,
    drivers: Sequence[FakeDriver] = (),
    checkpoints: dict[str, Any] | None = None,
    active: Sequence[Pod] = (),
    gates: FeatureGates = DEFAULT_GATES,
    updates: list[Sequence[str]] | None = None,
) -> DraManager:
    by_name = {claim.metadata.name: claim for claim in claims}

    def read(kind: str, namespace: str, name: str) -> ApiObject:
        assert (kind, namespace) == ("ResourceClaim", NAMESPACE)
        if name not in by_name:
            raise ApiError(404, "NotFound", f'resourceclaims.resource.k8s.io "{name}" not found')
        return by_name[name]

    disk = {} if checkpoints is None else checkpoints
    notify = [] if updates is None else updates
    stopped = cast("LoopClock", SimpleNamespace(now=lambda: 0))  # nothing here waits
    manager = DraManager(stopped, disk, read, lambda: active, lambda: True, gates, notify.append)
    for driver in drivers:
        manager.plugin_registered(driver)
    return manager
