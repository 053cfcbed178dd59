"""Victims of a preemption, the selected node, and eligible pods.

Adapted from: plugins/defaultpreemption default_preemption_test.go TestDryRunPreemption, TestSelectBestCandidate,
TestPostFilter, TestPodEligibleToPreemptOthers.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodCondition
from kubesim.api.workloads.policy import PodDisruptionBudget
from kubesim.cluster.scheduling.framework.cycle import schedule_pod
from kubesim.cluster.scheduling.framework.diagnosis import Diagnosis
from kubesim.cluster.scheduling.framework.plugin import CycleState
from kubesim.cluster.scheduling.preemption.post_filter import PostFilterResult, post_filter
from kubesim.cluster.scheduling.preemption.victims import Victims, pick_one_node, select_victims_on_node
from tests.support.cluster.scheduled import cycle_of, node, pod, pod_object

SMALL, MEDIUM, LARGE, VERY_LARGE = ("100m", "100"), ("200m", "200"), ("300m", "300"), ("500m", "500")
SIZES = {"s": SMALL, "m": MEDIUM, "l": LARGE, "v": VERY_LARGE}
NEGATIVE, LOW, MID, HIGH, VERY_HIGH = -100, 0, 100, 1000, 10000
PRIORITIES = {"-": NEGATIVE, "0": LOW, "1": MID, "2": HIGH, "3": VERY_HIGH}


def preemptor(size: str, priority: int = HIGH, **spec: Any) -> Pod:
    return pod_object(pod("p", *SIZES[size], priority=priority, **spec))


def others(text: str, labels: dict[str, str] | None = None) -> list[Pod]:
    """Pods from text. `n1: 1m 0s@3`: on n1 a medium pod of middle priority, and a small one of low priority that
    started at 3 s.
    """
    found = []
    for line in text.split(";"):
        place, _, pods = line.partition(":")
        for number, each in enumerate(pods.split()):
            kind, _, second = each.partition("@")
            name = f"{place.strip()}.{number + 1}"
            manifest = pod(name, *SIZES[kind[1]], labels=labels, priority=PRIORITIES[kind[0]])
            made = pod_object(manifest, place.strip(), name)
            started = f"2000-01-01T00:00:0{second or 0}Z"
            found.append(made.changed(status=made.status.changed(start_time=started)))
    return found


def nodes(count: int) -> list[Node]:
    return [node(f"n{number + 1}", *VERY_LARGE) for number in range(count)]


def victims(cycle: CycleState, budgets: tuple[PodDisruptionBudget, ...] = ()) -> list[Victims]:
    found = [select_victims_on_node(cycle, state, budgets, lambda _: (), 0) for state in cycle.snapshot.nodes.values()]
    return [each for each in found if isinstance(each, Victims) and each.pods]


def names(found: list[Victims]) -> dict[str, list[str]]:
    return {each.node: [info.pod.metadata.name for info in each.pods] for each in found}


@pytest.mark.parametrize(
    ("size", "pods", "expected"),
    [
        ("l", "n1: 1l; n2: 1l", {"n1": ["n1.1"], "n2": ["n2.1"]}),
        ("l", "n1: 2l; n2: 3l", {}),
        # The medium pod is a victim; the small one of lower priority may stay.
        ("l", "n1: 0s 1l; n2: 1l", {"n1": ["n1.2"], "n2": ["n2.1"]}),
        ("l", "n1: 1s 0s 1m 2s; n2: 2l", {"n1": ["n1.3", "n1.2"]}),
        # Of pods with equal priority, those that started earliest stay.
        ("l", "n1: 0s@5 0s@4 1s@1 1s@2 2s@3; n2: 2l", {"n1": ["n1.4", "n1.2", "n1.1"]}),
    ],
)
def test_pods_of_lower_priority_are_victims(size: str, pods: str, expected: dict[str, list[str]]) -> None:
    """The most important victim comes first."""
    assert names(victims(cycle_of(preemptor(size), nodes(2), others(pods)))) == expected


def budget(allowed: int, disrupted: tuple[str, ...] = ()) -> PodDisruptionBudget:
    return PodDisruptionBudget.from_json(
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "pdb", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "foo"}}},
            "status": {
                "disruptionsAllowed": allowed,
                "disruptedPods": dict.fromkeys(disrupted, "2000-01-01T00:00:00Z"),
            },
        }
    )


@pytest.mark.parametrize(
    ("allowed", "disrupted", "violations"),
    [(1, (), 1), (0, (), 2), (2, (), 0), (1, ("other",), 1), (1, ("n1.2",), 0), (1, ("n1.1", "n1.2"), 0)],
)
def test_pods_that_a_budget_protects_are_counted(allowed: int, disrupted: tuple[str, ...], violations: int) -> None:
    cycle = cycle_of(preemptor("v"), nodes(1), others("n1: 1m 1m", {"app": "foo"}))
    (found,) = victims(cycle, (budget(allowed, disrupted),))
    assert len(found.pods) == 2
    assert found.violations == violations


def test_a_protected_pod_stays_even_at_the_cost_of_a_more_important_one() -> None:
    protected = others("n1: 0m", {"app": "foo"})[0]
    protected = protected.changed(metadata=protected.metadata.changed(name="protected", uid="protected"))
    cycle = cycle_of(preemptor("l"), nodes(1), [*others("n1: 1m"), protected])
    (found,) = victims(cycle, (budget(0),))
    assert [info.pod.metadata.name for info in found.pods] == ["n1.1"]
    assert found.violations == 0


@pytest.mark.parametrize(
    ("count", "priority", "size", "pods", "expected"),
    [
        (2, HIGH, "l", "n1: 1l; n2: 1l", {"n1", "n2"}),
        (3, HIGH, "v", "n1: 1m 1l; n2: 1m 0m; n3: 0m 0m", {"n3"}),
        (3, HIGH, "v", "n1: 1m 1l; n2: 1l 0m; n3: 1m 1m", {"n2"}),
        (3, HIGH, "v", "n1: 1s -s 1s -s; n2: 1l -m; n3: 1m -s 0s", {"n2"}),
        (3, HIGH, "v", "n1: 1s -s -s; n2: 1l -m; n3: 1m -s 0s", {"n2"}),
        (4, VERY_HIGH, "v", "n1: 1s 0s 0s; n2: 2l; n3: 1m 0s 0s 0m; n4: 1m 1s 1s -s", {"n1"}),
        (3, HIGH, "v", "n1: 1m@2 1m@2; n2: 1m@3 1m@3; n3: 1m@1 1m@1", {"n2"}),
        (3, HIGH, "v", "n1: 1m@4 1m@2; n2: 1m@5 1m@1; n3: 1m@3 1m@6", {"n3"}),
        (3, HIGH, "v", "n1: 0m@4 1m@2; n2: 1m@6 0m@1; n3: 0m@3 1m@5", {"n2"}),
    ],
)
def test_the_cheapest_node_is_picked(count: int, priority: int, size: str, pods: str, expected: set[str]) -> None:
    found = victims(cycle_of(preemptor(size, priority), nodes(count), others(pods)))
    offered: list[set[str]] = []

    def choose(equal: Any) -> str:
        offered.append(set(equal))
        return str(equal[0])

    chosen = pick_one_node(found, choose, 0).node
    assert (offered[0] if offered else {chosen}) == expected


def after_filters(cycle: CycleState) -> PostFilterResult:
    result = schedule_pod(cycle, lambda _: (), lambda equal: equal[0])
    assert isinstance(result, Diagnosis)
    return post_filter(cycle, result, lambda _: (), lambda equal: equal[0], 0)


PREFIX = "no new claims to deallocate, preemption: "


@pytest.mark.parametrize(
    ("size", "spec", "pods", "message", "nominate"),
    [
        ("l", {}, "n1: 1l; n2: 2v", "", "n1"),
        ("l", {}, "n1: 2l; n2: 2l", "0/2 nodes are available: 2 No preemption victims found for incoming pod.", ""),
        ("v", {}, "n1: 0s 2l; n2: 2l",
         ("0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, "
         "1 No preemption victims found for incoming pod."), ""),
        ("l", {"preemptionPolicy": "Never"}, "n1: 1l; n2: 1l", "not eligible due to preemptionPolicy=Never.", None),
        ("l", {"nodeSelector": {"x": "y"}}, "n1: 1l; n2: 1l",
         "0/2 nodes are available: 2 Preemption is not helpful for scheduling.", ""),
    ],
)  # fmt: skip
def test_post_filter(size: str, spec: dict[str, Any], pods: str, message: str, nominate: str | None) -> None:
    found = after_filters(cycle_of(preemptor(size, **spec), nodes(2), others(pods)))
    assert found.message == (PREFIX + message if message else "")
    assert found.nominate == nominate


def test_a_pod_that_waits_for_terminating_victims_does_not_preempt_again() -> None:
    mark = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    waiting = preemptor("l")
    waiting = waiting.changed(status=waiting.status.changed(nominated_node_name="n1"))

    def with_victim(*conditions: PodCondition) -> list[Pod]:
        stays, victim = others("n1: 2s 1l")
        metadata = victim.metadata.changed(deletion_timestamp="2000-01-01T00:00:00Z")
        return [stays, victim.changed(metadata=metadata, status=victim.status.changed(conditions=conditions))]

    found = after_filters(cycle_of(waiting, nodes(1), with_victim(mark)))
    assert found == PostFilterResult(f"{PREFIX}not eligible due to a terminating pod on the nominated node.")
    # A pod that another client deletes does not count as a terminating victim, and preemption may select it.
    assert after_filters(cycle_of(waiting, nodes(1), with_victim())).nominate == "n1"
