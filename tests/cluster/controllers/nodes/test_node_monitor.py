"""Unhealthy nodes and NoExecute taints: which pods are evicted, and when.

The rules are adapted from pkg/controller/tainteviction/taint_eviction_test.go and
pkg/controller/nodelifecycle/node_lifecycle_controller_test.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from kubesim.api.pod import Toleration
from kubesim.api.timestamps import SECOND
from kubesim.cluster.controllers.nodes.node_monitor import (
    NOT_READY,
    UNREACHABLE,
    nodes_to_taint,
    with_no_execute_taint,
    zone_states,
)
from kubesim.cluster.controllers.nodes.taint_eviction import toleration_time
from kubesim.trace.records import ApiWrite, EventRecorded
from tests.support.played import Played, pod

A, B = Taint(key="a", value="1", effect="NoExecute"), Taint(key="b", effect="NoExecute")


def toleration(key: str, seconds: int | None = None, **more: str) -> Toleration:
    return Toleration.from_json({"key": key, "operator": "Exists", "tolerationSeconds": seconds, **more})


@pytest.mark.parametrize(
    ("taints", "tolerations", "stays"),
    [
        ([], [], None),
        ([A], [], 0),
        ([A], [toleration("b")], 0),
        ([A], [toleration("a")], None),
        ([A], [toleration("a", 5)], 5),
        ([A], [toleration("a", -5)], 0),
        ([A], [toleration("a", 0)], 0),
        ([A], [toleration("a", 5, effect="NoSchedule")], 0),
        ([A], [toleration("a", 5, operator="Equal", value="1")], 5),
        ([A], [toleration("a", 5, operator="Equal", value="2")], 0),
        ([A, B], [toleration("a", 5)], 0),
        ([A, B], [toleration("a", 5), toleration("b", 3)], 3),
        ([A, B], [toleration("a"), toleration("b", 3)], 3),
        ([A, B], [toleration("")], None),
        ([A], [toleration("a", 9), toleration("a", 1)], 9),  # the first matching toleration counts
    ],
)
def test_how_long_a_pod_may_stay(taints: list[Taint], tolerations: list[Toleration], stays: int | None) -> None:
    assert toleration_time(taints, tolerations) == (None if stays is None else stays * SECOND)


# -- in a scenario -----------------------------------------------------------------------------------------------------

TAINTED = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}


def taint_at(second: int, *taints: dict[str, str]) -> dict[str, Any]:
    return {"at": f"{second}s", "apply": {**TAINTED, "spec": {"taints": list(taints)}}}


KEY = {"key": "example", "effect": "NoExecute"}


def deletions(story: Played) -> dict[str, float]:
    return {r.pod.partition("/")[2]: r.t // SECOND for r in story.records if isinstance(r, ApiWrite) and _evicts(r)}


def _evicts(record: ApiWrite) -> bool:
    return record.verb == "delete" and record.by == "taint-eviction-controller"


def patient(name: str, seconds: int | None) -> dict[str, Any]:
    own: dict[str, Any] = {"key": "example", "operator": "Exists", "effect": "NoExecute"}
    if seconds is not None:
        own["tolerationSeconds"] = seconds
    return pod(name, tolerations=[own])


def messages(story: Played, name: str) -> list[str]:
    found = [r for r in story.records if isinstance(r, EventRecorded) and r.pod == f"default/{name}"]
    return [r.message for r in found if r.reason == "TaintManagerEviction"]


def test_a_taint_evicts_immediately_later_or_never() -> None:
    pods = [pod("none"), patient("some", 20), patient("all", None)]
    applies = [{"at": "0s", "apply": manifest} for manifest in pods]
    story = Played(*applies, taint_at(10, KEY))
    assert deletions(story) == {"none": 10, "some": 30}
    assert messages(story, "none") == ["Marking for deletion Pod default/none"]
    assert story.result.phases["default/all"] == "Running"
    assert "Killing" in story.events("some", after=30)
    reported = [r for r in story.records if isinstance(r, ApiWrite) and r.pod == "default/none" and r.verb == "patch"]
    assert any(r.summary.get("conditions", {}).get("DisruptionTarget", "").startswith("True") for r in reported)


def test_a_taint_removed_in_time_evicts_no_pod() -> None:
    story = Played({"at": "0s", "apply": patient("some", 20)}, taint_at(10, KEY), taint_at(25))
    assert deletions(story) == {}
    assert messages(story, "some") == ["Cancelling deletion of Pod default/some"]


def test_a_later_pod_is_rejected_by_the_kubelet_or_evicted_after_its_own_delay() -> None:
    steps = [taint_at(1, KEY), {"at": "10s", "apply": pod("none")}, {"at": "10s", "apply": patient("some", 20)}]
    story = Played(*steps)
    assert story.result.phases["default/none"] == "Failed"
    assert "TaintToleration" in story.events("none")
    assert deletions(story)["some"] == 30


def test_more_taints_do_not_change_a_planned_deletion() -> None:
    other = {"key": "other", "effect": "NoExecute"}
    manifest = patient("some", 30)
    manifest["spec"]["tolerations"].append({**other, "operator": "Exists", "tolerationSeconds": 5})
    story = Played({"at": "0s", "apply": manifest}, taint_at(10, KEY), taint_at(20, KEY, other))
    assert deletions(story) == {"some": 40}


# -- nodes -------------------------------------------------------------------------------------------------------------


def node(name: str, ready: str, zone: str = "", *taints: Taint) -> Node:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    conditions = (NodeCondition(type="Ready", status=ready),)
    return Node.from_json({"kind": "Node", "metadata": {"name": name, "labels": labels}}).changed(
        spec=NodeSpec(taints=taints), status=NodeStatus(conditions=conditions)
    )


def cluster(states: str, zone: str = "") -> list[Node]:
    """A cluster from text: `+` is ready, `-` is not, `?` is unknown."""
    words = {"+": "True", "-": "False", "?": "Unknown"}
    return [node(f"{zone}{n}", words[state], zone) for n, state in enumerate(states)]


@pytest.mark.parametrize(
    ("states", "zone_state"),
    [("+", "normal"), ("-", "full disruption"), ("++--", "normal"), ("+---", "partial disruption"), ("+--", "normal")],
)
def test_zones(states: str, zone_state: str) -> None:
    assert zone_states(cluster(states)) == {":": zone_state}


def test_which_nodes_are_tainted() -> None:
    assert nodes_to_taint(cluster("+-?")) == {"1": NOT_READY, "2": UNREACHABLE}
    assert nodes_to_taint(cluster("--")) == {}  # no node is ready: the controller may be disconnected
    assert nodes_to_taint(cluster("+---")) == {}  # most nodes of a small zone
    assert len(nodes_to_taint(cluster("+" * 10 + "-" * 50))) == 50
    assert nodes_to_taint([*cluster("--", "a"), *cluster("+", "b")]) == {"a0": NOT_READY, "a1": NOT_READY}


def test_one_taint_replaces_the_other_and_foreign_taints_stay() -> None:
    tainted = with_no_execute_taint(node("n", "False", "", A), NOT_READY, 0)
    assert [t.key for t in tainted.spec.taints] == ["a", NOT_READY]
    assert with_no_execute_taint(tainted, NOT_READY, 5) is tainted
    assert [t.key for t in with_no_execute_taint(tainted, UNREACHABLE, 5).spec.taints] == ["a", UNREACHABLE]
    assert [t.key for t in with_no_execute_taint(tainted, None, 5).spec.taints] == ["a"]


TWO = [{"name": "node-1"}, {"name": "node-2"}]


def on(name: str, node_name: str) -> dict[str, Any]:
    return pod(name, nodeName=node_name)


def test_a_silent_node_becomes_unknown_and_its_pods_are_evicted_after_their_toleration() -> None:
    steps = [
        {"at": "0s", "apply": on("there", "node-2")},
        {"at": "0s", "apply": on("here", "node-1")},
        {"at": "20s", "stop": {"what": "kubelet", "node": "node-2"}},
        {"at": "420s", "start": {"what": "kubelet", "node": "node-2"}},
    ]
    story = Played(*steps, nodes=TWO, duration="10m")
    lost = story.when(EventRecorded, node="node-2", reason="NodeNotReady")
    assert 60 <= lost[0] <= 80
    assert "NodeNotReady" in story.events("there")
    taints = [
        r for r in story.records if isinstance(r, ApiWrite) and r.by == "node-controller" and r.resource == "nodes"
    ]
    assert [r.summary.get("taint") for r in taints] == [f"{UNREACHABLE}:NoExecute", ""]
    # The default toleration of unreachable nodes is five minutes. The pod object waits for its kubelet.
    begin = deletions(story)["there"]
    assert 360 <= begin <= 390
    assert list(deletions(story)) == ["there"]
    gone = [r.t / SECOND for r in story.records if isinstance(r, ApiWrite) and r.verb == "delete" and r.by == "kubelet"]
    assert gone
    assert gone[0] > 420


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    steps = [
        {"at": "0s", "apply": on("there", "node-2")},
        {"at": "20s", "stop": {"what": "kubelet", "node": "node-2"}},
        {"at": "120s", "start": {"what": "kubelet", "node": "node-2"}},
    ]
    story = Played(*steps, nodes=TWO, duration="10m")
    assert deletions(story) == {}
    assert messages(story, "there") == ["Cancelling deletion of Pod default/there"]
    assert story.result.phases["default/there"] == "Running"
    assert story.when(EventRecorded, node="node-2", reason="NodeReady")


def test_the_only_node_of_a_cluster_is_never_tainted() -> None:
    steps: list[dict[str, Any]] = [{"at": "0s", "apply": pod("here")}, {"at": "20s", "stop": "kubelet"}]
    story = Played(*steps, duration="10m")
    assert "NodeNotReady" in story.events("here")
    assert deletions(story) == {}


def test_a_short_absence_is_not_noticed() -> None:
    steps = [
        {"at": "0s", "apply": on("there", "node-2")},
        {"at": "20s", "restart": {"what": "kubelet", "node": "node-2", "downFor": "30s"}},
    ]
    story = Played(*steps, nodes=TWO, duration="5m")
    assert not story.when(EventRecorded, reason="NodeNotReady")
