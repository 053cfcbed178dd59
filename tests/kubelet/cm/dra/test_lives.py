"""Claims over the lifecycles of pods and kubelets: sharing, restarts, deleted pods, health in the status.

Cases from upstream's pkg/kubelet/cm/dra/manager_test.go: TestHandleWatchResourcesStream (five of seven; the others are
about the stream itself), TestUpdateAllocatedResourcesStatus, TestUpdateAllocatedResourcesStatus_Subrequest,
TestBuildResourceHealth, TestTruncateHealthMessage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import run_virtual
from kubesim.features import DEFAULT_GATES, FeatureGates, configured_gates
from kubesim.kubelet.cm.dra.health_info import HEALTHY, UNHEALTHY, UNKNOWN, DeviceHealthReport, truncated
from kubesim.kubelet.cm.dra.plugin import PreparedDevice
from kubesim.values import replace
from tests.support.fakes.dra import (
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


def test_the_last_pod_unprepares_a_shared_claim() -> None:
    first, second = claiming_pod("claim"), claiming_pod("claim", uid="second")
    driver = FakeDriver()
    manager = dra_manager(resource_claim(pods=[POD_UID, "second"]), drivers=[driver])

    async def main() -> None:
        await manager.prepare_resources(first)
        await manager.prepare_resources(second)
        await manager.unprepare_resources(first)
        assert driver.unprepared == []
        await manager.unprepare_resources(second)

    run_virtual(main)
    assert (len(driver.prepared), len(driver.unprepared)) == (1, 1)


def test_after_a_restart_a_known_claim_is_prepared_again() -> None:
    """The CDI files of the driver may be gone."""
    checkpoints: dict[str, Any] = {}
    before = dra_manager(resource_claim(), drivers=[FakeDriver()], checkpoints=checkpoints)
    run_virtual(lambda: before.prepare_resources(claiming_pod("claim")))
    driver = FakeDriver()
    after = dra_manager(resource_claim(), drivers=[driver], checkpoints=checkpoints)
    pod = claiming_pod("claim")
    assert after.get_resources(pod, pod.spec.containers[0]).cdi_devices == PREPARED.cdi_device_ids
    run_virtual(lambda: after.prepare_resources(pod))
    assert len(driver.prepared) == 1


def test_claims_of_deleted_pods_are_unprepared_by_the_reconcile_loop() -> None:
    active = [claiming_pod("claim")]
    driver = FakeDriver()
    manager = dra_manager(drivers=[driver], active=active)
    manager.cache.add(claim_info(pods=[POD_UID, "gone"], prepared=True))
    manager.cache.add(claim_info("other", uid="other", pods=["gone"], prepared=True))

    async def main() -> None:
        assert await manager.reconcile()
        assert [[claim.name for claim in batch] for batch in driver.unprepared] == [["other"]]
        shared = manager.cache.get("claim", NAMESPACE)
        assert shared is not None
        assert list(shared.pod_uids) == [POD_UID]
        assert not await manager.reconcile()

    run_virtual(main)


def test_claims_of_a_missing_driver_are_retried_in_the_next_reconcile() -> None:
    manager = dra_manager()
    manager.cache.add(claim_info(prepared=True))
    assert run_virtual(manager.reconcile)
    assert manager.pod_might_need_to_unprepare_resources(POD_UID)


# -- health -----------------------------------------------------------------------------------------------------------


def report(device: str, health: str) -> DeviceHealthReport:
    return DeviceHealthReport(POOL, device, health)


@pytest.mark.parametrize(
    ("pods", "reports", "updates"),
    [
        pytest.param([POD_UID], [[report(DEVICE, UNHEALTHY)]], [(POD_UID,)], id="HealthChangeForAllocatedDevice"),
        pytest.param([POD_UID], [[report("other", UNHEALTHY)]], [], id="NonAllocatedDeviceChange"),
        pytest.param(
            [POD_UID], [[report(DEVICE, HEALTHY)], [report(DEVICE, HEALTHY)]], [(POD_UID,)], id="NoActualStateChange"
        ),
        pytest.param(
            ["a", "b"],
            [[report(DEVICE, UNHEALTHY)]],
            [("a", "b")],
            id="HealthChangeForMultiplePodsWithSharedDevice",
        ),
    ],
)
def test_pods_are_notified_of_changed_health(
    pods: Sequence[str], reports: Sequence[Sequence[DeviceHealthReport]], updates: Sequence[tuple[str, ...]]
) -> None:
    received: list[Sequence[str]] = []

    async def main() -> None:
        manager = dra_manager(updates=received)
        manager.cache.add(claim_info(pods=pods, prepared=True, devices=[replace(PREPARED, share_id="share")]))
        for each in reports:
            manager.health_reported(DRIVER, each)

    run_virtual(main)
    assert received == updates


def status_of(
    pod: Pod,
    claim: str,
    device: PreparedDevice,
    health: str = HEALTHY,
    message: str = "Device is operating normally",
    gates: FeatureGates = DEFAULT_GATES,
) -> list[Any]:
    """The entries of the container's status."""

    async def main() -> list[Any]:
        manager = dra_manager(gates=gates)
        manager.cache.add(claim_info(claim, devices=[device], driver="driver"))
        if health != UNKNOWN or message:
            known = DeviceHealthReport(device.pool_name, device.device_name, health, message)
            manager.health_reported("driver", [known])
        status = PodStatus.from_json({"containerStatuses": [{"name": "main"}]})
        found = manager.update_allocated_resources_status(pod, status)
        return list(found.container_statuses[0].allocated_resources_status)

    return run_virtual(main)


def templated(name: str, claim: str) -> Pod:
    pod = claiming_pod(name, status={"resourceClaimStatuses": [{"name": name, "resourceClaimName": claim}]})
    spec = pod.spec.changed(resource_claims=({"name": name, "resourceClaimTemplateName": "template"},))
    return pod.changed(spec=spec)


def renamed(name: str, claim: str) -> Pod:
    pod = claiming_pod(name)
    return pod.changed(spec=pod.spec.changed(resource_claims=({"name": name, "resourceClaimName": claim},)))


@pytest.mark.parametrize(
    ("pod", "claim", "name", "share"),
    [
        pytest.param(claiming_pod("claim1"), "claim1", "claim:claim1", "", id="Direct claim"),
        pytest.param(renamed("own", "object"), "object", "claim:own", "", id="Renamed claim"),
        pytest.param(templated("own", "generated"), "generated", "claim:own", "", id="Templated claim"),
        pytest.param(claiming_pod("shared"), "shared", "claim:shared", "share", id="Claim with ShareID"),
    ],
)
def test_update_allocated_resources_status(pod: Pod, claim: str, name: str, share: str) -> None:
    health = {"resourceID": "driver/pool/dev", "health": HEALTHY, "message": "Device is operating normally"}
    device = PreparedDevice("pool", "dev", share_id=share)
    assert status_of(pod, claim, device) == [{"name": name, "resources": [health]}]


@pytest.mark.parametrize(
    ("request_name", "reported"),
    [
        pytest.param("req-base/sub", True, id="Subrequest matches base name"),
        pytest.param("req-other/sub", False, id="Subrequest does not match different base name"),
        pytest.param("req-base", True, id="Base request matches base name"),
        pytest.param("", True, id="Empty request matches any device"),
    ],
)
def test_status_of_a_subrequest(request_name: str, reported: bool) -> None:
    pod = claiming_pod("claim")
    (container,) = pod.spec.containers
    resources = container.resources.changed(claims=({"name": "claim", "request": request_name},))
    spec = pod.spec.changed(containers=(container.changed(resources=resources),))
    found = status_of(pod.changed(spec=spec), "claim", PreparedDevice("pool", "dev", ("req-base",)))
    shown = f"claim:claim/{request_name}" if request_name else "claim:claim"
    assert [entry["name"] for entry in found] == ([shown] if reported else [])


NO_MESSAGES = configured_gates({"ResourceHealthStatusMessage": False}, "v1.36")
CDI = ("driver/pool=device",)


@pytest.mark.parametrize(
    ("ids", "health", "message", "gates", "entry"),
    [
        pytest.param(
            CDI,
            HEALTHY,
            "device ok",
            DEFAULT_GATES,
            {"resourceID": CDI[0], "health": HEALTHY, "message": "device ok"},
            id="message enabled and CDI id",
        ),
        pytest.param(
            CDI, HEALTHY, "device ok", NO_MESSAGES, {"resourceID": CDI[0], "health": HEALTHY}, id="message disabled"
        ),
        pytest.param(CDI, HEALTHY, "", DEFAULT_GATES, {"resourceID": CDI[0], "health": HEALTHY}, id="empty message"),
        pytest.param(
            CDI,
            UNHEALTHY,
            "device ok",
            DEFAULT_GATES,
            {"resourceID": CDI[0], "health": UNHEALTHY, "message": "device ok"},
            id="unhealthy status",
        ),
        pytest.param(
            CDI,
            UNKNOWN,
            "device ok",
            DEFAULT_GATES,
            {"resourceID": CDI[0], "health": UNKNOWN, "message": "device ok"},
            id="unknown status",
        ),
        pytest.param(
            (),
            UNHEALTHY,
            "device ok",
            DEFAULT_GATES,
            {"resourceID": "driver/pool/device", "health": UNHEALTHY, "message": "device ok"},
            id="fallback resource id",
        ),
    ],
)
def test_build_resource_health(
    ids: tuple[str, ...], health: str, message: str, gates: FeatureGates, entry: dict[str, str]
) -> None:
    device = PreparedDevice("pool", "device", cdi_device_ids=ids)
    found = status_of(claiming_pod("claim"), "claim", device, health, message, gates)
    assert found == [{"name": "claim:claim", "resources": [entry]}]


def test_without_health_reports_the_health_is_unknown() -> None:
    found = status_of(claiming_pod("claim"), "claim", PreparedDevice("pool", "dev"), UNKNOWN, "")
    health = {"resourceID": "driver/pool/dev", "health": UNKNOWN}
    assert found == [{"name": "claim:claim", "resources": [health]}]


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        pytest.param("", "", id="empty message"),
        pytest.param("Device is healthy", "Device is healthy", id="short message"),
        pytest.param("x" * 1024, "x" * 1024, id="message at exactly max length"),
        pytest.param("x" * 1025, "x" * 1021 + "...", id="message one character over max length"),
        pytest.param("x" * 2048, "x" * 1021 + "...", id="very long message"),
        pytest.param("ECC error count exceeded", "ECC error count exceeded", id="message with meaningful content"),
        pytest.param("x" * 1024 + " extra", "x" * 1021 + "...", id="long message with meaningful content"),
    ],
)
def test_truncate_health_message(message: str, wanted: str) -> None:
    assert truncated(message) == wanted
