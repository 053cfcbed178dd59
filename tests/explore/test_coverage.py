"""The closed list of decision rules, and the table of those that a search has reached."""

from __future__ import annotations

import pytest

from kubesim.cli.explore.report import coverage_table
from kubesim.explore.decisions import _OTHERS, MODULES, coverage_of, rules_of
from tests.support.searches import search, shipped

REACHED = {
    "actions: no sandbox exists yet, so one is created",
    "actions: container _ has not run yet, so it is started",
    "worker.update: the pod is new to the pod workers, so it gets a worker",
    "status: Ready False ContainersNotReady",
    "event: FailedMount",
}


@pytest.mark.parametrize("group", MODULES)
def test_a_group_has_rules_and_runs_reach_some_but_not_all(group: str) -> None:
    [found] = [each for each in coverage_of(search(shipped("hello-pod"), 8, ("reboot",)).rules) if each.group == group]
    assert 0 < len(found.never) < found.count == len(rules_of(group))


def test_a_reached_rule_is_not_listed_and_others_are() -> None:
    never = {rule for each in coverage_of(REACHED) for rule in each.never}
    assert "container … has not run yet, so it is started" not in never
    assert "the pod is new to the pod workers, so it gets a worker" not in never
    assert not {"ContainersNotReady", "FailedMount"} & never
    assert {"sidecar … failed its startup probe, so it is killed and started again", "the kubelet evicts it"} <= never


def test_without_runs_nothing_is_reached() -> None:
    assert all(len(each.never) == each.count for each in coverage_of(()))


def test_the_table_has_counts_and_what_was_never_reached() -> None:
    lines = list(coverage_table(coverage_of(REACHED)))
    assert lines[0] == "Decision rules reached:"
    assert lines[1].split()[0] == "compute_pod_actions"
    assert "  workers              the kubelet evicts it" in lines


def test_messages_that_are_no_reasons_are_in_the_sources() -> None:
    listed = {rule for group in MODULES for rule in rules_of(group)}
    assert not listed & _OTHERS
