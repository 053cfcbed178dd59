"""Cases from upstream's pkg/kubelet/cm/dra/manager_test.go: TestPrepareResources, TestUnprepareResources,
TestPrepareResourcesWithPreparedAndNewClaim, TestPodMightNeedToUnprepareResources, TestGetResources.

Of TestPrepareResources 14 of 16 rows are here; the two others need PodGroups (DRAWorkloadResourceClaims, alpha).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod
from kubesim.clock import run_virtual
from kubesim.kubelet.cm.dra.claim_info import CHECKPOINT, ClaimInfo
from kubesim.kubelet.cm.dra.manager import DraManager
from kubesim.kubelet.cm.dra.plugin import ClaimResult, PreparedDevice
from kubesim.runtime.helper import ContainerConfigError, DynamicResourcesError
from kubesim.values import replace
from tests.support.fakes.dra import (
    CDI_ID,
    CLAIM_UID,
    DEVICE,
    DRIVER,
    NAMESPACE,
    POD_UID,
    POOL,
    PREPARED,
    FakeDriver,
    claim_info,
    claiming_pod,
    dra_manager,
    resource_claim,
)

EXTENDED = {
    "extendedResourceClaimStatus": {
        "resourceClaimName": "claim",
        "requestMappings": [
            {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "container-0-request-0"}
        ],
    }
}
EXTENDED_DEVICE = replace(PREPARED, request_names=("container-0-request-0",))
TIMEOUT = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"


def prepare(manager: DraManager, pod: Pod) -> str:
    """The error, or None."""

    async def main() -> str:
        try:
            await manager.prepare_resources(pod)
        except DynamicResourcesError as error:
            return str(error)
        return ""

    return run_virtual(main)


def unprepare(manager: DraManager, pod: Pod) -> str:
    async def main() -> str:
        try:
            await manager.unprepare_resources(pod)
        except DynamicResourcesError as error:
            return str(error)
        return ""

    return run_virtual(main)


def with_group_reservation(claim: ApiObject) -> ApiObject:
    status = {**claim.extra["status"], "reservedFor": [{"apiGroup": "scheduling.k8s.io", "resource": "podgroups"}]}
    return claim.with_extra({**claim.extra, "status": status})


def with_share(claim: ApiObject) -> ApiObject:
    claim.extra["status"]["allocation"]["devices"]["results"][0]["shareID"] = "share"
    return claim


PREFIX = "prepare dynamic resources: "
NOT_ALLOWED = f"{PREFIX}pod test-pod ({POD_UID}) is not allowed to use ResourceClaim claim ({CLAIM_UID})"
SHARED = replace(PREPARED, share_id="share")


@pytest.mark.parametrize(
    ("claim", "cached", "driver", "pod", "error", "calls", "devices"),
    [
        pytest.param(
            None,
            None,
            FakeDriver(),
            claiming_pod("claim"),
            f'{PREFIX}fetch ResourceClaim claim: resourceclaims.resource.k8s.io "claim" not found',
            0,
            None,
            id="claim doesn't exist",
        ),
        pytest.param(
            resource_claim(drivers=["unknown driver"]),
            None,
            FakeDriver(),
            claiming_pod("claim"),
            f"{PREFIX}DRA driver unknown driver is not registered",
            0,
            None,
            id="unknown driver",
        ),
        pytest.param(
            resource_claim(),
            None,
            FakeDriver(answers={CLAIM_UID: ClaimResult()}),
            claiming_pod("claim"),
            "",
            1,
            (),
            id="should prepare resources, driver returns nil value",
        ),
        pytest.param(
            resource_claim(),
            None,
            FakeDriver(answers={}),
            claiming_pod("claim"),
            f"{PREFIX}NodePrepareResources skipped 1 ResourceClaims",
            1,
            (),
            id="driver returns empty result",
        ),
        pytest.param(
            resource_claim(pods=()),
            None,
            FakeDriver(),
            claiming_pod("claim"),
            NOT_ALLOWED,
            0,
            None,
            id="pod is not allowed to use resource claim",
        ),
        pytest.param(
            resource_claim(),
            None,
            FakeDriver(),
            claiming_pod("claim").changed(spec=claiming_pod("claim").spec.changed(containers=(Container(name="x"),))),
            "",
            1,
            (PREPARED,),
            id="no container uses the claim",
        ),
        pytest.param(
            resource_claim(),
            claim_info(prepared=True),
            FakeDriver(),
            claiming_pod("claim"),
            "",
            0,
            (PREPARED,),
            id="resource already prepared",
        ),
        pytest.param(
            resource_claim(),
            None,
            FakeDriver(problem=TIMEOUT),
            claiming_pod("claim"),
            f"{PREFIX}NodePrepareResources: {TIMEOUT}",
            1,
            (),
            id="should timeout",
        ),
        pytest.param(
            resource_claim(),
            None,
            FakeDriver(),
            claiming_pod("claim"),
            "",
            1,
            (PREPARED,),
            id="should prepare resource, claim not in cache",
        ),
        pytest.param(
            resource_claim(),
            claim_info(prepared=False),
            FakeDriver(),
            claiming_pod("claim"),
            "",
            1,
            (PREPARED,),
            id="should not duplicate devices on prepare retry",
        ),
        pytest.param(
            resource_claim(),
            None,
            FakeDriver(answers={CLAIM_UID: ClaimResult(devices=(EXTENDED_DEVICE,))}),
            claiming_pod(status=EXTENDED),
            "",
            1,
            (EXTENDED_DEVICE,),
            id="should prepare extended resource claim backed by DRA",
        ),
        pytest.param(
            with_group_reservation(resource_claim()),
            None,
            FakeDriver(),
            claiming_pod("claim"),
            NOT_ALLOWED,
            0,
            None,
            id="should fail to prepare resource for podgroup when the feature is disabled",
        ),
        pytest.param(
            resource_claim(),
            claim_info(uid="another-claim-uid"),
            FakeDriver(),
            claiming_pod("claim"),
            f"{PREFIX}old ResourceClaim with same name claim and different UID another-claim-uid still exists "
            "(previous pod force-deleted?!)",
            0,
            (PREPARED,),
            id="claim UIDs mismatch",
        ),
        pytest.param(
            with_share(resource_claim()),
            None,
            FakeDriver(answers={CLAIM_UID: ClaimResult(devices=(SHARED,))}),
            claiming_pod("claim"),
            "",
            1,
            (SHARED,),
            id="should prepare resources with share id",
        ),
    ],
)
def test_prepare_resources(
    claim: ApiObject | None,
    cached: ClaimInfo | None,
    driver: FakeDriver,
    pod: Pod,
    error: str,
    calls: int,
    devices: tuple[PreparedDevice, ...] | None,
) -> None:
    driver = FakeDriver(driver.name, driver.answers, driver.problem)
    checkpoints: dict[str, Any] = {}
    manager = dra_manager(*([] if claim is None else [claim]), drivers=[driver], checkpoints=checkpoints)
    if cached is not None:
        manager.cache.add(cached)
    assert prepare(manager, pod) == error
    assert len(driver.prepared) == calls
    info = manager.cache.get("claim", NAMESPACE)
    assert (None if info is None else info.drivers[DRIVER]) == devices
    if not error:
        assert info is not None
        assert (info.is_prepared, list(info.pod_uids)) == (True, [POD_UID])
        assert [entry["drivers"] for entry in checkpoints[CHECKPOINT]] == [{DRIVER: devices}]


def test_an_unallocated_claim_is_rejected() -> None:
    """The kubelet of a pod that was created with its node."""
    claim = resource_claim()
    claim.extra["status"].pop("allocation")
    assert prepare(dra_manager(claim), claiming_pod("claim")) == f"{PREFIX}ResourceClaim claim: not allocated"


def test_a_generated_claim_must_belong_to_the_pod() -> None:
    pod = claiming_pod(status={"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "claim"}]})
    spec = pod.spec.changed(resource_claims=({"name": "gpu", "resourceClaimTemplateName": "template"},))
    error = prepare(dra_manager(resource_claim(), drivers=[FakeDriver()]), pod.changed(spec=spec))
    assert error == (
        f"{PREFIX}ResourceClaim test-namespace/claim was not created for Pod test-namespace/test-pod (Pod is not owner)"
    )
    unknown = prepare(dra_manager(), claiming_pod().changed(spec=spec))
    assert unknown == f'{PREFIX}pod "test-namespace/test-pod": ResourceClaim not created yet'


def test_each_driver_gets_one_batch() -> None:
    driver = FakeDriver(answers={CLAIM_UID: ClaimResult("no power")})
    manager = dra_manager(resource_claim(), drivers=[driver])
    failed = f"{PREFIX}NodePrepareResources failed for ResourceClaim claim: no power"
    assert prepare(manager, claiming_pod("claim")) == failed
    stranger = FakeDriver(answers={"other": ClaimResult()})
    manager = dra_manager(resource_claim(), drivers=[stranger])
    unknown = f"{PREFIX}NodePrepareResources returned result for unknown claim UID other"
    assert prepare(manager, claiming_pod("claim")) == unknown


def test_prepared_and_new_claims_of_one_pod() -> None:
    """TestPrepareResourcesWithPreparedAndNewClaim: only the new claims are sent to the driver, in one batch."""
    driver = FakeDriver()
    claims = [resource_claim("claim"), resource_claim("second", uid="second-uid"), resource_claim("third", uid="third")]
    manager = dra_manager(*claims, drivers=[driver])
    manager.cache.add(claim_info(prepared=True))
    assert prepare(manager, claiming_pod("claim", "second", "third")) == ""
    assert [[claim.name for claim in batch] for batch in driver.prepared] == [["second", "third"]]


def test_each_driver_gets_its_own_batch() -> None:
    first, second = FakeDriver("first"), FakeDriver("second")
    claims = [
        resource_claim("a", uid="a", drivers=["first", "second"]),
        resource_claim("b", uid="b", drivers=["second"]),
    ]
    assert prepare(dra_manager(*claims, drivers=[first, second]), claiming_pod("a", "b")) == ""
    assert [[claim.name for claim in batch] for batch in first.prepared] == [["a"]]
    assert [[claim.name for claim in batch] for batch in second.prepared] == [["a", "b"]]


@pytest.mark.parametrize(
    ("cached", "driver", "pod", "error", "calls", "stays"),
    [
        pytest.param(
            claim_info(prepared=True, driver="unknown-driver"),
            FakeDriver(),
            claiming_pod("claim"),
            "unprepare dynamic resources: DRA driver unknown-driver is not registered",
            0,
            True,
            id="unknown driver",
        ),
        pytest.param(
            claim_info(pods=(POD_UID, "another-pod-uid"), prepared=True),
            FakeDriver(),
            claiming_pod("claim"),
            "",
            0,
            True,
            id="resource claim referenced by other pod(s)",
        ),
        pytest.param(
            claim_info(prepared=True),
            FakeDriver(problem=TIMEOUT),
            claiming_pod("claim"),
            f"unprepare dynamic resources: NodeUnprepareResources: {TIMEOUT}",
            1,
            True,
            id="should timeout",
        ),
        pytest.param(
            claim_info(prepared=True),
            FakeDriver(answers={}),
            claiming_pod("claim"),
            "unprepare dynamic resources: NodeUnprepareResources skipped 1 ResourceClaims",
            1,
            True,
            id="should fail when driver returns empty response",
        ),
        pytest.param(
            claim_info(prepared=True),
            FakeDriver(),
            claiming_pod(status=EXTENDED),
            "",
            1,
            False,
            id="should unprepare already prepared extended resource backed by DRA",
        ),
        pytest.param(
            claim_info(prepared=True),
            FakeDriver(),
            claiming_pod("claim"),
            "",
            1,
            False,
            id="should unprepare already prepared resource",
        ),
        pytest.param(
            claim_info(prepared=True),
            FakeDriver(answers={CLAIM_UID: ClaimResult()}),
            claiming_pod("claim"),
            "",
            1,
            False,
            id="should unprepare resource when driver returns nil value",
        ),
    ],
)
def test_unprepare_resources(
    cached: ClaimInfo, driver: FakeDriver, pod: Pod, error: str, calls: int, stays: bool
) -> None:
    manager = dra_manager(drivers=[driver])
    manager.cache.add(cached)
    assert unprepare(manager, pod) == error
    assert len(driver.unprepared) == calls
    assert (manager.cache.get("claim", NAMESPACE) is not None) == stays
    assert manager.pod_might_need_to_unprepare_resources(POD_UID) == bool(error)


def test_unprepare_without_a_claim_makes_no_call() -> None:
    driver = FakeDriver()
    assert unprepare(dra_manager(drivers=[driver]), claiming_pod("claim")) == ""
    assert driver.unprepared == []


def test_pod_might_need_to_unprepare_resources() -> None:
    manager = dra_manager()
    manager.cache.add(claim_info())
    assert manager.pod_might_need_to_unprepare_resources(POD_UID)
    assert not manager.pod_might_need_to_unprepare_resources("other")


TWO_REQUESTS = PreparedDevice(POOL, DEVICE, ("one", "two"), (CDI_ID,))


@pytest.mark.parametrize(
    ("resources", "pod", "info", "devices"),
    [
        pytest.param(
            {"claims": [{"name": "claim"}]}, claiming_pod("claim"), claim_info(), [CDI_ID], id="claim info with devices"
        ),
        pytest.param({"claims": [{"name": "claim"}]}, claiming_pod("claim"), None, None, id="nil claiminfo"),
        pytest.param(
            {"requests": {"example.com/gpu": "1"}},
            claiming_pod(status=EXTENDED),
            claim_info(devices=[EXTENDED_DEVICE]),
            [CDI_ID],
            id="extended resource claim info with devices",
        ),
        pytest.param(
            {"claims": [{"name": "claim", "request": "one"}, {"name": "claim", "request": "two"}]},
            claiming_pod("claim"),
            claim_info(devices=[TWO_REQUESTS]),
            [CDI_ID, CDI_ID],
            id="same claim referenced by multiple requests",
        ),
        pytest.param(
            {"claims": [{"name": "claim", "request": "other"}]},
            claiming_pod("claim"),
            claim_info(),
            [],
            id="only the devices of the container's requests",
        ),
        pytest.param({}, claiming_pod("claim"), claim_info(), [], id="a container without claims"),
    ],
)
def test_get_resources(
    resources: Mapping[str, Any], pod: Pod, info: ClaimInfo | None, devices: list[str] | None
) -> None:
    manager = dra_manager()
    if info is not None:
        manager.cache.add(info)
    container = Container.from_json({"name": "main", "resources": resources})
    if devices is None:
        with pytest.raises(ContainerConfigError) as caught:
            manager.get_resources(pod, container)
        problem = "internal error: unable to get claim info for ResourceClaim claim in namespace test-namespace"
        assert str(caught.value) == problem
    else:
        assert list(manager.get_resources(pod, container).cdi_devices) == devices
