"""The closed list of decision rules, and the table of those that a search has reached."""

from __future__ import annotations

import pytest

from kubesim.cli.explore.report import coverage_table
from kubesim.explore.rules.decisions import MODULES, coverage_of, rules_of
from kubesim.explore.rules.reasons import SENTENCES, WITH_REASONS, reasons_in
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


def test_the_table_has_counts_and_on_request_each_rule_that_was_never_reached() -> None:
    counts = list(coverage_table(coverage_of(REACHED), show_missing=False))
    assert counts[0] == "Decision rules reached:"
    assert [line.split()[0] for line in counts[1:]] == list(MODULES)
    first, *missing = list(coverage_table(coverage_of(REACHED), show_missing=True))[: -len(counts)]
    assert first == "Decision rules never reached:"
    assert "  workers              the kubelet evicts it" in missing
    assert len(missing) == sum(len(group.never) for group in coverage_of(REACHED))


SOURCE = """
HINT = {"sync": "an entry of a table"}

@value_object
class Decision:
    delay: int
    why: str

class Worker:
    def stop(self, seconds, why): ...

    def decide(self, pod, events):
        'why a docstring is no reason'
        log(f"a message about {pod}")
        self.stop(3, f"given for {pod}; and its second part")
        self.why.append("appended to a list" if pod else "the other branch")
        wait, because = outcome(pod)
        found = f"{because}, {'a fragment'}"
        why = f"{found} inserted"
        why += HINT[pod]
        events.event(pod, "Warning", "FailedMount", "the message of an Event")
        raise Error("an error")

def outcome(pod):
    return ("not this position", "returned by a function")

def decision(pod):
    return Decision(0, "a field")
"""
EVENTS = "class Recorder:\n    def event(self, pod, type, reason, message): ..."


def test_a_reason_is_what_the_code_gives_to_something_named_so() -> None:
    sentences = {
        "given for …", "and its second part", "appended to a list", "the other branch", "returned by a function",
        "… inserted", "an entry of a table", "a field",
    }  # fmt: skip
    assert set(reasons_in([SOURCE], SENTENCES, called=[EVENTS])) == sentences
    assert set(reasons_in([SOURCE], WITH_REASONS, called=[EVENTS])) == sentences | {"FailedMount"}


def test_fragments_and_messages_are_no_rules() -> None:
    listed = {rule for group in MODULES for rule in rules_of(group)}
    assert not listed & {"failed with …", "is started again", "pod sandbox is not ready", "network is not ready"}
