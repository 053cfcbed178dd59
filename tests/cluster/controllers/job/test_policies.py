"""podFailurePolicy and successPolicy.

Adapted from: pkg/controller/job/pod_failure_policy_test.go; success_policy_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
)
from kubesim.api.workloads.batch import SuccessPolicy
from kubesim.cluster.controllers.job.outcome.indexes import parse_indexes
from kubesim.cluster.controllers.job.outcome.policies import match_pod_failure_policy, match_success_policy
from tests.support.cluster.batch import failure_policy, make_pod

Rule = dict[str, Any]
FAIL_JOB = "Container main-container for pod default/mypod failed with exit code {} matching FailJob rule at index {}"


def codes(action: str, operator: str, *values: int) -> Rule:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values)}}


def condition(action: str, status: str = "True", type: str = "DisruptionTarget") -> Rule:
    return {"action": action, "onPodConditions": [{"type": type, "status": status}]}


def exited(*exit_codes: int, init: tuple[int, ...] = ()) -> Pod:
    def statuses(names: str, numbers: tuple[int, ...]) -> tuple[ContainerStatus, ...]:
        states = (ContainerState(terminated=ContainerStateTerminated(exit_code=code)) for code in numbers)
        return tuple(
            ContainerStatus(name=f"{'main' if n == 0 else n}-{names}", state=state) for n, state in enumerate(states)
        )

    status = PodStatus(
        phase="Failed",
        container_statuses=statuses("container", exit_codes),
        init_container_statuses=statuses("init", init),
    )
    return make_pod("Failed", "mypod").changed(status=status)


def disrupted(status: str = "True") -> Pod:
    return make_pod("Failed", "mypod", conditions=(PodCondition(type="DisruptionTarget", status=status),))


@pytest.mark.parametrize(
    ("rules", "pod", "counts", "action", "message"),
    [
        pytest.param(
            [codes("UnknownAction", "In", 1, 2), codes("FailJob", "In", 2, 3)],
            exited(2),
            True,
            "FailJob",
            FAIL_JOB.format(2, 1),
            id="unknown action, exit codes",
        ),
        pytest.param(
            [condition("UnknownAction"), condition("Ignore")],
            disrupted(),
            False,
            "Ignore",
            "",
            id="unknown action, conditions",
        ),
        pytest.param(
            [codes("Ignore", "UnknownOperator", 1, 2), codes("FailJob", "In", 2, 3)],
            exited(2),
            True,
            "FailJob",
            FAIL_JOB.format(2, 1),
            id="unknown operator",
        ),
        pytest.param([], exited(2), True, "", "", id="no policy rules"),
        pytest.param([codes("Ignore", "In", 1, 2, 3)], exited(2), False, "Ignore", "", id="ignore exit codes"),
        pytest.param(
            [codes("Ignore", "In", -1073741676, -1073741510)],
            exited(-1073741510),
            False,
            "Ignore",
            "",
            id="negative exit codes",
        ),
        pytest.param(
            [codes("FailJob", "In", 1, 2, 3)], exited(2), True, "FailJob", FAIL_JOB.format(2, 0), id="FailJob"
        ),
        pytest.param(
            [codes("FailJob", "NotIn", 111)], exited(111, 0, init=(0,)), True, "", "", id="success never matches"
        ),
        pytest.param([codes("FailIndex", "In", 1, 2, 3)], exited(2), True, "FailIndex", "", id="FailIndex"),
        pytest.param(
            [codes("FailJob", "NotIn", 0)],
            exited(1, 0),
            True,
            "FailJob",
            FAIL_JOB.format(1, 0),
            id="NotIn with value 0",
        ),
        pytest.param(
            [codes("Count", "In", 1, 2, 3), codes("FailJob", "In", 4, 5, 6)],
            exited(6),
            True,
            "FailJob",
            FAIL_JOB.format(6, 1),
            id="second rule matches",
        ),
        pytest.param([codes("Count", "In", 1, 2, 3)], exited(0, 2), True, "Count", "", id="count exit codes"),
        pytest.param([condition("FailIndex")], disrupted(), True, "FailIndex", "", id="FailIndex for conditions"),
        pytest.param([condition("Ignore")], disrupted(), False, "Ignore", "", id="ignore conditions"),
        pytest.param([condition("Ignore", "False")], disrupted("False"), False, "Ignore", "", id="status False"),
        pytest.param([condition("Ignore", "Unknown")], disrupted("Unknown"), False, "Ignore", "", id="status Unknown"),
        pytest.param([condition("Ignore", "False")], disrupted(), True, "", "", id="False wanted, True found"),
        pytest.param([condition("Ignore")], disrupted("False"), True, "", "", id="True wanted, False found"),
        pytest.param(
            [condition("FailJob")],
            disrupted(),
            True,
            "FailJob",
            "Pod default/mypod has condition DisruptionTarget matching FailJob rule at index 0",
            id="FailJob for conditions",
        ),
        pytest.param([condition("Count")], disrupted(), True, "Count", "", id="count conditions"),
        pytest.param(
            [
                codes("Count", "NotIn", 8),
                codes("Ignore", "In", 1, 2, 3),
                codes("FailJob", "NotIn", 5, 6, 7),
                condition("Count", type="ResourceLimitExceeded"),
                condition("Ignore"),
            ],
            exited(32),
            True,
            "Count",
            "",
            id="the first of several rules",
        ),
    ],
)
def test_pod_failure_policy(rules: list[Rule], pod: Pod, counts: bool, action: str, message: str) -> None:
    match = match_pod_failure_policy(failure_policy(*rules), pod)
    assert (match.counts, match.action, match.message) == (counts, action, message)


def test_a_rule_can_name_the_container() -> None:
    rule = codes("Ignore", "In", 3)
    rule["onExitCodes"]["containerName"] = "1-container"
    assert match_pod_failure_policy(failure_policy(rule), exited(3, 1)).counts
    assert not match_pod_failure_policy(failure_policy(rule), exited(1, 3)).counts


@pytest.mark.parametrize(
    ("rules", "succeeded", "expected"),
    [
        pytest.param(None, "0", None, id="no policy"),
        pytest.param([], "0", None, id="no rules"),
        pytest.param([("invalid-form", None)], "0", None, id="invalid format"),
        pytest.param([("0-2", None)], "0-2,4-7", 0, id="indexes match"),
        pytest.param([("3", None)], "0-2", None, id="indexes do not match"),
        pytest.param([(None, 2)], "0-2", 0, id="count is reached"),
        pytest.param([(None, 4)], "0-2", None, id="count is not reached"),
        pytest.param([("9", None), ("4,6", None)], "0-2,4-7", 1, id="the second rule matches"),
        pytest.param([("0,1", None), ("5", None)], "0-2,4-7", 0, id="all rules match"),
        pytest.param([("3-6", 2)], "0-2,4-7", 0, id="count within indexes is reached"),
        pytest.param([("3-6", 2)], "0-2,6,7", None, id="count within indexes is not reached"),
        pytest.param([(None, 4)], "", None, id="nothing has succeeded"),
        pytest.param([("2-4,6-8", None)], "1-9", 0, id="proper subset"),
        pytest.param([("2-4,6-9", None)], "2-4,6-9", 0, id="the same set"),
        pytest.param([("2-4,8-12", None)], "2-5,7-9", 0, id="indexes beyond completions do not count"),
        pytest.param([("", None)], "1-3", None, id="empty rule"),
        pytest.param([("", None)], "", None, id="empty rule, nothing has succeeded"),
        pytest.param([("10-12,14-16", None)], "1-3,5-7", None, id="only indexes beyond completions"),
        pytest.param([("1-3,5-7", None)], "2-4,6-8", None, id="overlap at first"),
        pytest.param([("1-3,5-7", 4)], "2-4,6-8", 0, id="overlap at first, count is reached"),
        pytest.param([("2-4,6-9", None)], "1-3,5-7", None, id="overlap at last"),
        pytest.param([("2-4,6-9", 4)], "1-3,5-7", 0, id="overlap at last, count is reached"),
        pytest.param([("0-4,6-9", None)], "1-3,7,8", None, id="rule is larger"),
        pytest.param([("0-4,6-9", 5)], "1-3,7,8", 0, id="rule is larger, count is reached"),
        pytest.param([("0-6,8-9", None)], "1-3,5-9", None, id="overlap of several intervals"),
        pytest.param([("0-6,8-9", 7)], "1-3,5-9", 0, id="overlap of several intervals, count is reached"),
    ],
)
def test_success_policy(
    rules: list[tuple[str | None, int | None]] | None, succeeded: str, expected: int | None
) -> None:
    policy = None
    if rules is not None:
        made = [
            {
                **({} if indexes is None else {"succeededIndexes": indexes}),
                **({} if count is None else {"succeededCount": count}),
            }
            for indexes, count in rules
        ]
        policy = SuccessPolicy.from_json({"rules": made})
    message = "" if expected is None else f"Matched rules at index {expected}"
    assert match_success_policy(policy, 10, parse_indexes(succeeded, 10)) == message
