"""How many old pods are deleted and new ones created in a rolling update.

Mirrors: pkg/controller/daemon/update_test.go TestGetUnavailableNumbers; daemon_controller_test.go TestSurge*
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod, PodCondition, PodSpec, PodStatus
from kubesim.api.workloads.apps import DaemonSet
from kubesim.cluster.controllers.daemonset.failures import FailedPodsBackoff
from kubesim.cluster.controllers.daemonset.placement import Fit
from kubesim.cluster.controllers.daemonset.plan import DaemonNodePlan, plan_node, pods_by_node, pods_without_node
from kubesim.cluster.controllers.daemonset.rolling import allows_surge, max_surge, max_unavailable, plan_rolling_update
from kubesim.errors import ApiError
from tests.support.workloads.sets import daemon_set, rolling

NOW = 1_000_000_000_000_000
FITS, STAYS, GOES = Fit(True, True), Fit(False, True), Fit(False, False)


def _set(**spec: Any) -> DaemonSet:
    return DaemonSet.from_json(daemon_set(**spec))


def _pod(name: str, *, new: bool = False, ready: bool = True, ending: bool = False, phase: str = "Running") -> Pod:
    condition = PodCondition(type="Ready", status=str(ready), last_transition_time="2001-09-09T01:46:35Z")  # NOW - 5 s
    return Pod(
        metadata=ObjectMeta(
            name=name,
            labels={"controller-revision-hash": "new" if new else "old"},
            deletion_timestamp="2001-09-09T01:46:40Z" if ending else None,
            creation_timestamp="2001-09-09T01:46:30Z" if new else "2001-09-09T01:46:00Z",
        ),
        spec=PodSpec(node_name="node"),
        status=PodStatus(phase=phase, conditions=(condition,)),
    )


@pytest.mark.parametrize(
    ("strategy", "desired", "surge", "unavailable"),
    [
        (rolling(maxUnavailable=0), 0, 0, 0),
        (rolling(maxUnavailable=1), 2, 0, 1),
        (rolling(maxUnavailable="50%"), 2, 0, 1),
        (rolling(maxUnavailable="50%"), 3, 0, 2),
        (rolling(maxSurge="50%", maxUnavailable=0), 2, 1, 0),
        (rolling(maxSurge="100%", maxUnavailable=0), 2, 2, 0),
        (rolling(maxSurge="1%", maxUnavailable=0), 5, 1, 0),
        ({"type": "OnDelete"}, 5, 0, 0),
    ],
)
def test_percentages_are_rounded_up(strategy: dict[str, Any], desired: int, surge: int, unavailable: int) -> None:
    set_ = _set(updateStrategy=strategy)
    assert (max_surge(set_, desired), max_unavailable(set_, desired)) == (surge, unavailable)
    assert allows_surge(set_) is (surge > 0)


def test_without_surge_and_unavailability_pods_are_replaced_one_at_a_time() -> None:
    set_ = _set(updateStrategy=rolling(maxUnavailable=0))
    pods = {"a": [_pod("a")], "b": [_pod("b")]}
    rollout = plan_rolling_update(set_, {"a": FITS, "b": FITS}, pods, "new", NOW)
    assert (len(rollout.delete_candidates), rollout.delete_count) == (2, 1)


def test_unavailable_pods_count_against_the_limit() -> None:
    set_ = _set(updateStrategy=rolling(maxUnavailable=3))
    pods = {
        "empty": [],
        "doubled": [_pod("1"), _pod("2", new=True)],
        "old": [_pod("3")],
        "new": [_pod("4", new=True)],
    }
    fits = dict.fromkeys(pods, FITS)
    rollout = plan_rolling_update(set_, fits, pods, "new", NOW)
    assert ([pod.metadata.name for pod in rollout.delete_candidates], rollout.delete_count) == (["3"], 1)
    crowded = {**pods, "crowded": [_pod("5"), _pod("6")]}
    assert plan_rolling_update(set_, {**fits, "crowded": FITS}, crowded, "new", NOW).delete_count == 0


def test_an_unavailable_old_pod_is_deleted_immediately() -> None:
    set_ = _set(updateStrategy=rolling(maxUnavailable=1))
    pods = {"a": [_pod("a", ready=False)], "b": [_pod("b", ready=False)], "c": [_pod("c")]}
    rollout = plan_rolling_update(set_, dict.fromkeys(pods, FITS), pods, "new", NOW)
    assert [pod.metadata.name for pod in rollout.delete] == ["a", "b"]
    assert rollout.delete_count == 0


def test_a_surge_creates_before_it_deletes() -> None:
    set_ = _set(updateStrategy=rolling(maxSurge=2, maxUnavailable=0))
    pods = {
        "old": [_pod("1")],
        "broken": [_pod("2", ready=False)],
        "waiting": [_pod("3"), _pod("4", new=True, ready=False)],
        "done": [_pod("5"), _pod("6", new=True)],
    }
    rollout = plan_rolling_update(set_, dict.fromkeys(pods, FITS), pods, "new", NOW)
    assert (rollout.create, rollout.create_candidates, rollout.create_count) == (("broken",), ("old",), 1)
    assert [pod.metadata.name for pod in rollout.delete] == ["5"]


def test_on_a_node_that_no_longer_matches_the_old_pod_stays_until_others_are_available() -> None:
    set_ = _set(updateStrategy=rolling(maxSurge=1, maxUnavailable=0))
    pods = {"leaving": [_pod("1")], "other": [_pod("2", ready=False)]}
    fits = {"leaving": STAYS, "other": FITS}
    assert plan_rolling_update(set_, fits, pods, "new", NOW).delete_count == 0
    pods = {"leaving": [_pod("1")], "other": [_pod("2")]}
    rollout = plan_rolling_update(set_, fits, pods, "new", NOW)
    assert ([pod.metadata.name for pod in rollout.delete_candidates], rollout.delete_count) == (["1"], 1)
    broken = {"leaving": [_pod("1", ready=False)], "other": [_pod("2")]}
    rollout = plan_rolling_update(set_, fits, broken, "new", NOW)
    assert [pod.metadata.name for pod in rollout.delete] == ["1"]


def test_a_surge_needs_the_node_to_exist() -> None:
    set_ = _set(updateStrategy=rolling(maxSurge=1, maxUnavailable=0))
    with pytest.raises(ApiError, match='couldn\'t get node for nodeName "gone"'):
        plan_rolling_update(set_, {}, {"gone": [_pod("1")]}, "new", NOW)


# -- one node -------------------------------------------------------------------------------------------------------


def _planned(plan: DaemonNodePlan) -> tuple[bool, list[str]]:
    return plan.create, [pod.metadata.name for pod in plan.delete]


@pytest.mark.parametrize(
    ("fit", "pods", "expected"),
    [
        (FITS, [], (True, [])),
        (STAYS, [], (False, [])),
        (GOES, [], (False, [])),
        (FITS, [_pod("1")], (False, [])),
        (STAYS, [_pod("1")], (False, [])),
        (GOES, [_pod("1"), _pod("2", ending=True)], (False, ["1"])),
        (FITS, [_pod("1", ending=True)], (False, [])),
        (FITS, [_pod("2", new=True), _pod("1")], (False, ["2"])),
    ],
)
def test_one_pod_on_each_matching_node(fit: Fit, pods: list[Pod], expected: tuple[bool, list[str]]) -> None:
    set_ = _set(updateStrategy=rolling(maxUnavailable=1))
    assert _planned(plan_node(set_, fit, pods, "new", NOW)) == expected


@pytest.mark.parametrize(
    ("min_ready", "pods", "expected"),
    [
        (0, [_pod("old"), _pod("new", new=True, ready=False)], (False, [])),
        (0, [_pod("old", ready=False), _pod("new", new=True, ready=False)], (False, ["old"])),
        (0, [_pod("old"), _pod("new", new=True)], (False, ["old"])),
        (10, [_pod("old"), _pod("new", new=True)], (False, [])),
        (5, [_pod("old"), _pod("new", new=True)], (False, ["old"])),
        (0, [_pod("old", ending=True)], (True, [])),
        (0, [_pod("1"), _pod("2"), _pod("3", new=True, ready=False), _pod("4", new=True)], (False, ["2", "4"])),
    ],
    ids=["waits", "old is not ready", "new is available", "too early", "just in time", "old is ending", "crowd"],
)
def test_with_a_surge_two_pods_can_share_a_node(
    min_ready: int, pods: list[Pod], expected: tuple[bool, list[str]]
) -> None:
    set_ = _set(updateStrategy=rolling(maxSurge=1, maxUnavailable=0), minReadySeconds=min_ready)
    assert _planned(plan_node(set_, FITS, pods, "new", NOW)) == expected


def test_terminated_pods_are_reported_separately() -> None:
    pods = [_pod("1", phase="Failed"), _pod("2", phase="Succeeded"), _pod("3", phase="Failed", ending=True)]
    plan = plan_node(_set(), FITS, pods, "new", NOW)
    assert ([pod.metadata.name for pod in plan.failed], [pod.metadata.name for pod in plan.succeeded]) == (["1"], ["2"])
    assert (plan.create, plan.delete) == (False, ())


def test_a_terminated_pod_being_deleted_does_not_count() -> None:
    pods = [_pod("1", phase="Failed", ending=True), _pod("2", ending=True), _pod("3", phase="Failed")]
    assert [pod.metadata.name for pod in pods_by_node(pods)["node"]] == ["2", "3"]
    assert len(pods_by_node(pods, with_deleted=True)["node"]) == 3


def test_a_pod_for_a_missing_node_is_deleted_unless_it_is_bound() -> None:
    waiting = _pod("2").changed(spec=PodSpec())
    assert pods_without_node({"gone": [_pod("1"), waiting], "here": [waiting]}, ["here"]) == [waiting]


def test_the_back_off_doubles_with_each_failure() -> None:
    backoff, key, now, second = FailedPodsBackoff(), ("uid", 1, "node"), NOW, 1_000_000
    assert backoff.remaining_wait(key, now) == 0
    for expected in (1, 2, 4, 8):
        backoff.next(key, now)
        assert backoff.remaining_wait(key, now + 1) == expected * second
        now += expected * second
        assert backoff.remaining_wait(key, now) == 0
    for _ in range(10):
        backoff.next(key, now)
    assert backoff.remaining_wait(key, now) == 900 * second
    assert backoff.remaining_wait(("uid", 2, "node"), now) == 0
    backoff.next(key, now + 1801 * second)
    assert backoff.remaining_wait(key, now + 1801 * second) == second
