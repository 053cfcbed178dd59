"""Ranges of ids for pods. Adapted from pkg/kubelet/userns/userns_manager_test.go, userns_manager_disabled_test.go and
userns_manager_switch_test.go."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.clock import Randomness
from kubesim.features import DEFAULT_GATES, FeatureGates, configured_gates
from kubesim.kubelet.sandbox.userns import UNIT_LENGTH, UsernsManager, parse_mappings, range_problem
from kubesim.runtime.helper import SandboxConfigError
from kubesim.runtime.protocol import HOST_USERS, IdMapping, UserNamespace

LENGTH = 65536
DISABLED = configured_gates({}, "v1.30")


def supports(handler: str) -> bool:
    if handler == "error":
        raise SandboxConfigError("injected error")
    return handler != "without"


def manager(
    files: dict[str, str] | None = None, gates: FeatureGates = DEFAULT_GATES, seed: int = 0, **given: Any
) -> UsernsManager:
    stream = Randomness(seed).stream("userns")
    return UsernsManager({} if files is None else files, stream, supports, gates, **{"max_pods": 0, **given})


def pod(uid: str, host_users: bool | None = False) -> Pod:
    spec: dict[str, Any] = {"containers": []} | ({} if host_users is None else {"hostUsers": host_users})
    return Pod.from_json({"metadata": {"name": uid, "uid": uid}, "spec": spec})


def first_id(userns: UserNamespace | None) -> int:
    assert userns is not None
    assert userns.uids == userns.gids
    (mapping,) = userns.uids
    assert mapping.container_id == 0
    return mapping.host_id


@pytest.mark.parametrize("length", [pytest.param(LENGTH, id="default"), pytest.param(1048576, id="custom")])
def test_user_ns_manager_allocate(length: int) -> None:
    size = length * 2000
    made = manager(ids_per_pod=length, mapping=(length, size))
    one, two = (first_id(made.get_or_create(pod(uid), "")) for uid in ("one", "two"))
    assert one != two
    made.record("two", two, length)  # the same again
    with pytest.raises(SandboxConfigError, match="wrong user namespace offset"):
        made.record("two", two + 1, length)
    made.release("one")
    made.release("two")
    found = [first_id(made.get_or_create(pod(str(n)), "")) for n in range(1000)]
    assert len({*found}) == 1000
    assert all(length <= each <= size and each % length == 0 for each in found)
    for n, each in enumerate(found):
        made.release(str(n))
        made.record(str(n), each, length)
        made.release(str(n))
        assert not made.is_allocated(str(n))


@pytest.mark.parametrize(
    ("mapping", "max_pods", "problem"),
    [
        pytest.param((65536, 65536 * 2000), 110, "", id="default"),
        pytest.param(
            (65537, 65536 * 2000), 110, "kubelet user assigned ID 65537 is not a multiple of 65536",
            id="firstID not multiple",
        ),
        pytest.param(
            (1, 65536 * 2000), 110, "kubelet user assigned ID 1 is not a multiple of 65536",
            id="firstID is less than 65535",
        ),
        pytest.param(
            (0, 65536 * 2000), 110, "kubelet user assigned ID 0 must be greater or equal to 65536", id="firstID 0"
        ),
        pytest.param(
            (65536, 65537), 1, "kubelet user assigned IDs length 65537 is not a multiple of 65536",
            id="mappingLen not multiple",
        ),
        pytest.param(
            (65536, 65536), 2, "kubelet user assigned IDs are not enough to support 2 pods",
            id="range can't fit maxPods",
        ),
    ],
)  # fmt: skip
def test_make_user_ns_manager(mapping: tuple[int, int], max_pods: int, problem: str) -> None:
    assert range_problem(*mapping, UNIT_LENGTH, max_pods) == problem
    if problem:
        with pytest.raises(SandboxConfigError):
            manager(mapping=mapping, max_pods=max_pods)


def mapping(host: int = 131072, container: int = 0, length: int = 65536) -> dict[str, int]:
    return {"hostId": host, "containerId": container, "length": length}


IDENTICAL = "invalid user namespace configuration: GID and UID mapping should be identical"


@pytest.mark.parametrize(
    ("uids", "gids", "problem"),
    [
        pytest.param([mapping()], [mapping()], "", id="basic"),
        pytest.param([mapping(length=0)], [mapping(length=0)], "wrong user namespace length 0", id="invalid length"),
        pytest.param([mapping()], [mapping(host=1)], IDENTICAL, id="wrong offset"),
        pytest.param(
            [mapping()],
            [mapping(), mapping(196608)],
            "invalid user namespace configuration: GID and UID mappings should be identical.",
            id="two GID mappings",
        ),
        pytest.param(
            [mapping(), mapping(196608)],
            [mapping()],
            "invalid user namespace configuration: no more than one mapping allowed.",
            id="two UID mappings",
        ),
        pytest.param([mapping(container=1)], [mapping()], IDENTICAL, id="no root UID"),
        pytest.param([mapping()], [mapping(container=1)], IDENTICAL, id="no root GID"),
        pytest.param(
            [mapping(container=1)],
            [mapping(container=1)],
            "invalid user namespace configuration: UID 0 must be mapped",
            id="root is not mapped",
        ),
    ],
)
def test_when_all_ranges_are_used_allocation_fails(uids: list[Any], gids: list[Any], problem: str) -> None:
    files = {"pod": json.dumps({"uidMappings": uids, "gidMappings": gids})}
    if not problem:
        assert parse_mappings(files["pod"]) == (131072, 65536)
        assert first_id(manager(files).get_or_create(pod("pod"), "")) == 131072
        return
    with pytest.raises(SandboxConfigError) as raised:
        manager(files)
    assert str(raised.value) == f'record pod mappings for existing pod "pod": {problem}'


@pytest.mark.parametrize(
    ("host_users", "handler", "mode"),
    [
        pytest.param(None, "", "NODE", id="no user namespace"),
        pytest.param(True, "", "NODE", id="opt-in to host user namespace"),
        pytest.param(False, "", "POD", id="user namespace"),
    ],
)
def test_get_or_create_user_namespace_mappings(host_users: bool | None, handler: str, mode: str) -> None:
    found = manager().get_or_create(pod("u", host_users), handler)
    assert found is not None
    assert found.mode == mode


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        pytest.param(
            "without",
            'can\'t set `spec.hostUsers: false`, RuntimeClass handler "without" does not support user namespaces',
            id="user namespace, but no runtime support",
        ),
        pytest.param(
            "error",
            'can\'t set `spec.hostUsers: false`, RuntimeClass handler "error" does not support user namespaces: '
            "injected error",
            id="user namespace, but runtime returns error",
        ),
    ],
)
def test_a_runtime_without_support(handler: str, problem: str) -> None:
    with pytest.raises(SandboxConfigError) as raised:
        manager().get_or_create(pod("u"), handler)
    assert str(raised.value) == problem


PODS = ("pod-1", "pod-2")


@pytest.mark.parametrize(
    ("listed", "recorded", "known", "left"),
    [
        pytest.param(PODS, (), (), (), id="no stale pods"),
        pytest.param(PODS, PODS, (), (), id="no stale pods set"),
        pytest.param(PODS, PODS, ("pod-1",), ("pod-1",), id="one running pod, one pod"),
        pytest.param((), PODS, ("pod-1",), (), id="pod set before cleanup but not listed ==> unset"),
        pytest.param((), PODS, (), (), id="no listed pods ==> all unset"),
    ],
)
def test_cleanup_orphaned_pod_userns_allocations(
    listed: tuple[str, ...], recorded: tuple[str, ...], known: tuple[str, ...], left: tuple[str, ...]
) -> None:
    made = manager(dict.fromkeys(listed, ""))
    for n, uid in enumerate(recorded):
        made.record(uid, (n + 1) * 65536, 65536)
    made.clean_up_orphans(lambda uid: uid in known)
    assert tuple(uid for uid in PODS if made.is_allocated(uid)) == left


def test_record_bounds() -> None:
    made = manager(mapping=(65536, 65536), max_pods=1)
    made.record("0", 65536, 65536)
    with pytest.raises(SandboxConfigError, match="id 131072 is out of range"):
        made.record("2", 2 * 65536, 65536)


def test_when_all_ranges_are_used_there_is_none() -> None:
    made = manager(mapping=(65536, 65536), max_pods=1)
    made.get_or_create(pod("one"), "")
    with pytest.raises(SandboxConfigError) as raised:
        made.get_or_create(pod("two"), "")
    assert str(raised.value) == "create user namespace: could not find an empty slot to allocate a user namespace"
    made.release("one")
    assert first_id(made.get_or_create(pod("two"), "")) == 65536


@pytest.mark.parametrize("host_users", [True, False])
def test_get_or_create_user_namespace_mappings_disabled(host_users: bool) -> None:
    made = manager(gates=DISABLED)
    assert made.get_or_create(pod("u", None), "") is None
    with pytest.raises(SandboxConfigError) as raised:
        made.get_or_create(pod("u", host_users), "")
    assert str(raised.value) == 'the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers'
    made.release("some-pod")
    made.clean_up_orphans(lambda uid: False)


@pytest.mark.parametrize("profile", ["v1.6", "v1.12"])
@pytest.mark.parametrize("host_users", [True, False])
def test_older_kubelets_do_not_know_the_field(profile: str, host_users: bool) -> None:
    assert manager(gates=FeatureGates(profile=profile)).get_or_create(pod("u", host_users), "") is None


def test_make_user_ns_manager_switch() -> None:
    """Ranges recorded by an earlier kubelet are restored; with the gate disabled the record is not read."""
    files: dict[str, str] = {}
    before = manager(files)
    found = {uid: first_id(before.get_or_create(pod(uid), "")) for uid in PODS}
    assert not manager(files, DISABLED).is_allocated("pod-1")
    after = manager(files, seed=1)
    assert {uid: first_id(after.get_or_create(pod(uid), "")) for uid in PODS} == found
    assert after.get_or_create(pod("u", True), "") is HOST_USERS
    after.release("pod-1")
    assert [*files] == ["pod-2"]


def test_the_same_seed_draws_the_same_range() -> None:
    assert manager().get_or_create(pod("a"), "") == manager().get_or_create(pod("a"), "")
    assert manager().get_or_create(pod("a"), "") != manager(seed=1).get_or_create(pod("a"), "")
    host_id = first_id(manager().get_or_create(pod("a"), ""))
    assert manager().get_or_create(pod("a"), "") == UserNamespace((ids := IdMapping(0, host_id, 65536),), (ids,))
