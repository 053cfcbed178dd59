"""One merged affinity of many hints. The tables are adapted from pkg/kubelet/cm/topologymanager/policy_test.go,
policy_best_effort_test.go, policy_restricted_test.go, policy_single_numa_node_test.go, policy_none_test.go and
numa_info_test.go."""

from __future__ import annotations

import pytest

from kubesim.kubelet.cm.machine import NumaNode
from kubesim.kubelet.cm.topologymanager.hints import TopologyHint
from kubesim.kubelet.cm.topologymanager.numa_info import NumaInfo, new_numa_info
from kubesim.kubelet.cm.topologymanager.policy import (
    BEST_EFFORT,
    NONE,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    HintMerger,
    Policy,
    PolicyName,
    filter_single_numa_hints,
    max_of_min_affinity_counts,
)
from kubesim.kubelet.cm.topologymanager.policy_options import PolicyOptions
from kubesim.runtime.allocation.cpuset import parse_cpus
from tests.kubelet.cm.tables import Row, hint_of, hints_of, names, outcome, rows

TABLE = rows("topologymanager/topology_manager")
FOUR = {0: (10, 11, 12, 12), 1: (11, 10, 12, 12), 2: (12, 12, 10, 11), 3: (12, 12, 11, 10)}
EIGHT = {
    0: (10, 11, 12, 12, 30, 30, 30, 30),
    1: (11, 10, 12, 12, 30, 30, 30, 30),
    2: (12, 12, 10, 11, 30, 30, 30, 30),
    3: (12, 12, 11, 10, 30, 30, 30, 30),
    4: (30, 30, 30, 30, 10, 11, 12, 12),
    5: (30, 30, 30, 30, 11, 10, 12, 12),
    6: (30, 30, 30, 30, 12, 12, 10, 11),
    7: (30, 30, 30, 30, 12, 12, 13, 10),
}
NOWHERE = NumaInfo((), {})


def of(test: str) -> list[Row]:
    return [row for row in TABLE if row["test"] == test]


MERGE = of("merge")


@pytest.mark.parametrize("row", MERGE, ids=[f"{row['policy']} {row['nodes']} nodes: {row['name']}" for row in MERGE])
def test_merge(row: Row) -> None:
    """TestPolicyBestEffortMerge, ...RestrictedMerge, ...SingleNumaNodeMerge, with and without distances"""
    distances = FOUR if row["nodes"] == 4 else EIGHT
    info = NumaInfo(tuple(range(row["nodes"])), distances)
    policy = Policy(row["policy"], info, PolicyOptions(prefer_closest_numa=row["closest"]))
    best, _ = policy.merge([hints_of(provider) for provider in row["providers"]])
    assert best == hint_of(row["expect"])


@pytest.mark.parametrize("row", of("max of min"), ids=names(of("max of min")))
def test_max_of_min_affinity_counts(row: Row) -> None:
    """TestMaxOfMinAffinityCounts"""
    assert max_of_min_affinity_counts([tuple(map(hint_of, hints)) for hints in row["hints"]]) == row["expect"]


@pytest.mark.parametrize("row", of("compare"), ids=names(of("compare")))
def test_compare_hints_narrowest(row: Row) -> None:
    """TestCompareHintsNarrowest"""
    # The best count is the number of nodes that a resource needs.
    needed = TopologyHint(frozenset(range(row["best"])))
    merger = HintMerger(Policy(BEST_EFFORT, NOWHERE, PolicyOptions()), [(needed,)] if row["best"] else [])
    current = None if row["current"] is None else hint_of(row["current"])
    candidate = hint_of(row["candidate"])
    assert merger.compare(current, candidate) is (current if row["expect"] == "current" else candidate)


@pytest.mark.parametrize("row", of("filter single"), ids=names(of("filter single")))
def test_filter_single_numa_hints(row: Row) -> None:
    """TestPolicySingleNumaNodeFilterHints"""
    found = [filter_single_numa_hints(tuple(map(hint_of, hints))) for hints in row["hints"]]
    assert found == [tuple(map(hint_of, hints)) for hints in row["expect"]]


@pytest.mark.parametrize(
    ("policy", "preferred", "expected"),
    [
        (NONE, False, True),
        (NONE, True, True),
        (BEST_EFFORT, False, True),
        (BEST_EFFORT, True, True),
        (RESTRICTED, False, False),
        (RESTRICTED, True, True),
        (SINGLE_NUMA_NODE, False, False),
    ],
)
def test_can_admit_pod_result(policy: PolicyName, preferred: bool, expected: bool) -> None:
    """TestPolicy...CanAdmitPodResult with a hint without nodes"""
    hint = TopologyHint(None, preferred)
    _, admit = Policy(policy, NumaInfo((0, 1), {}), PolicyOptions()).merge([{"resource": (hint,)}])
    assert admit == expected


def test_the_policy_none_has_no_affinity() -> None:
    """TestPolicyNoneMerge"""
    policy = Policy(NONE, NOWHERE, PolicyOptions())
    for hints in ({}, {"resource": (TopologyHint(frozenset((0,)), preferred=True),)}):
        assert policy.merge([hints]) == (TopologyHint(None, preferred=False), True)


def test_many_combinations_are_merged_quickly() -> None:
    """Eight NUMA nodes and four resources: upstream tries four thousand million combinations."""
    nodes = range(8)
    masks = [frozenset(n for n in nodes if mask >> n & 1) for mask in range(1, 256)]
    hints = tuple(TopologyHint(mask, len(mask) == 1) for mask in masks)
    policy = Policy(BEST_EFFORT, NumaInfo(tuple(nodes), EIGHT), PolicyOptions())
    best, admit = policy.merge([{"a": hints, "b": hints}, {"c": hints}, {"d": hints}])
    assert (best, admit) == (TopologyHint(frozenset((0,)), preferred=True), True)


@pytest.mark.parametrize("row", of("numa info"), ids=names(of("numa info")))
def test_numa_info(row: Row) -> None:
    """TestNUMAInfo"""
    topology = tuple(NumaNode(node, distances=distances and tuple(distances)) for node, distances in row["topology"])
    options = PolicyOptions(prefer_closest_numa=row["closest"])
    info, problem = outcome(lambda: new_numa_info(topology, options))
    assert problem == row["error"]
    if not problem:
        nodes, distances = row["expect"]
        assert info == NumaInfo(tuple(nodes), {int(node): each and tuple(each) for node, each in distances.items()})


@pytest.mark.parametrize("row", of("average"), ids=names(of("average")))
def test_average_distance(row: Row) -> None:
    """TestCalculateAvgDistanceFor"""
    info = NumaInfo(tuple(row["nodes"]), {int(node): tuple(each) for node, each in row["distances"].items()})
    assert info.average_distance(frozenset(row["nodes"])) == row["expect"]


@pytest.mark.parametrize("row", of("closest"), ids=names(of("closest")))
def test_closest(row: Row) -> None:
    """TestClosest"""
    info = NumaInfo((), {int(node): tuple(each) for node, each in row["distances"].items()})
    nodes = {name: parse_cpus(row[name]) for name in ("current", "candidate")}
    assert info.closest(nodes["candidate"], nodes["current"]) is nodes[row["expect"]]
