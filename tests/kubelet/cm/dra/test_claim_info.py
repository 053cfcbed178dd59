"""Cases from upstream's pkg/kubelet/cm/dra/claiminfo_test.go that affect pods: 13 of 44 rows; the other tests use the
accessors. Omitted: locks, empty parameters, and file names, which kubesim does not have.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kubelet.cm.dra.claim_info import ClaimInfoCache, new_claim_info
from kubesim.kubelet.cm.dra.plugin import DraClaim
from kubesim.runtime.helper import DynamicResourcesError
from kubesim.values import replace
from tests.support.fakes.dra import CLAIM_UID, DRIVER, NAMESPACE, POD_UID, PREPARED, claim_info, resource_claim


def test_new_claim_info_from_claim() -> None:
    """successfully created object, with empty allocation, and without one."""
    info = new_claim_info(resource_claim(drivers=["a", "b", "a"]))
    assert info.claim == DraClaim(NAMESPACE, CLAIM_UID, "claim")
    assert (info.drivers, info.is_prepared, info.pod_uids) == ({"a": (), "b": ()}, False, {})
    assert new_claim_info(resource_claim(drivers=[])).drivers == {}
    claim = resource_claim()
    claim.extra["status"].pop("allocation")
    with pytest.raises(DynamicResourcesError, match="not allocated"):
        new_claim_info(claim)


@pytest.mark.parametrize(
    ("request_name", "found"),
    [("", ["one", "two"]), ("first", ["one"]), ("other", [])],
)
def test_cdi_devices_of_a_request(request_name: str, found: list[str]) -> None:
    one = replace(PREPARED, request_names=("first",), cdi_device_ids=("one",))
    two = replace(PREPARED, request_names=("second",), cdi_device_ids=("two",))
    assert list(claim_info(devices=[one, two]).cdi_devices(request_name)) == found


def test_a_device_without_request_names_serves_all_requests() -> None:
    assert list(claim_info(devices=[replace(PREPARED, request_names=())]).cdi_devices("any")) == [
        "vendor.com/class=device"
    ]


def test_cache() -> None:
    """TestClaimInfoCacheAdd, Contains, Get, Delete, HasPodReference."""
    cache = ClaimInfoCache({})
    assert cache.get("claim", NAMESPACE) is None
    info = claim_info()
    cache.add(info)
    assert cache.get("claim", NAMESPACE) is info
    assert cache.get("claim", "other") is None
    assert cache.has_pod_reference(POD_UID)
    assert not cache.has_pod_reference("other")
    cache.delete("claim", NAMESPACE)
    cache.delete("claim", NAMESPACE)
    assert not cache.has_pod_reference(POD_UID)


def test_only_prepared_claims_count_as_in_use() -> None:
    cache = ClaimInfoCache({})
    assert cache.claims_in_use() == {"<any>": 0}
    cache.add(claim_info("one", prepared=True))
    cache.add(claim_info("two", uid="two", prepared=True))
    cache.add(claim_info("three", uid="three"))
    assert cache.claims_in_use() == {DRIVER: 2, "<any>": 2}


def test_sync_to_checkpoint() -> None:
    """TestSyncToCheckpoint, TestNewClaimInfoFromState: restored claims count as not prepared."""
    disk: dict[str, Any] = {}
    cache = ClaimInfoCache(disk)
    info = claim_info(pods=["a", "b"], prepared=True)
    cache.add(info)
    assert list(ClaimInfoCache(disk)) == []
    cache.sync_to_checkpoint()
    info.pod_uids["c"] = None  # a change that was not checkpointed
    (found,) = ClaimInfoCache(disk)
    assert (found.claim, list(found.pod_uids), found.drivers) == (info.claim, ["a", "b"], info.drivers)
    assert not found.is_prepared
