"""Defaults, generated labels and validation of Jobs.

Adapted from: pkg/apis/batch/validation/validation_test.go; pkg/apis/batch/v1/defaults_test.go;
pkg/registry/batch/job/strategy_test.go TestJobStrategy_PrepareForCreate
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from tests.support.workloads.jobs import CONTAINER, DISRUPTED, IN, INDEXED, JOB, failure_rules, new_job, success_rules


def errors_of(job: dict[str, Any]) -> list[str]:
    errors = Errors()
    JOB.validate(errors, job)
    return [str(error) for error in errors]


# -- defaults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {},
            {
                "completions": 1,
                "parallelism": 1,
                "backoffLimit": 6,
                "completionMode": "NonIndexed",
                "suspend": False,
                "podReplacementPolicy": "TerminatingOrFailed",
                "manualSelector": False,
            },
            id="both unspecified",
        ),
        pytest.param({"parallelism": 0}, {"parallelism": 0, "completions": None}, id="WQ: parallelism explicitly 0"),
        pytest.param({"parallelism": 2}, {"parallelism": 2, "completions": None}, id="WQ: parallelism explicitly 2"),
        pytest.param({"completions": 2}, {"parallelism": 1, "completions": 2}, id="completions explicitly 2"),
        pytest.param({"backoffLimit": 5}, {"backoffLimit": 5}, id="backoff limit explicitly 5"),
        pytest.param({"backoffLimitPerIndex": 1}, {"backoffLimit": 2147483647}, id="backoffLimitPerIndex"),
        pytest.param({"suspend": True}, {"suspend": True}, id="suspend set"),
        pytest.param(
            {"podFailurePolicy": {"rules": []}}, {"podReplacementPolicy": "Failed"}, id="with a podFailurePolicy"
        ),
        pytest.param({"completionMode": "Indexed"}, {"completionMode": "Indexed"}, id="completion mode set"),
    ],
)
def test_job_defaults(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    made = new_job(**spec)["spec"]
    assert {name: made.get(name) for name in expected} == expected


def test_the_default_status_of_a_condition_pattern_is_true() -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    made = new_job(podFailurePolicy={"rules": rules})["spec"]
    assert made["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"


# -- generated labels -----------------------------------------------------------------------------------------------

GENERATED = {
    "controller-uid": "1a2b3c",
    "batch.kubernetes.io/controller-uid": "1a2b3c",
    "job-name": "myjob",
    "batch.kubernetes.io/job-name": "myjob",
}


def test_the_selector_uses_the_uid() -> None:
    job = new_job()
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "1a2b3c"}}
    assert job["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert not errors_of(job)


def test_a_job_without_labels_gets_those_of_its_template() -> None:
    assert new_job()["metadata"]["labels"] == GENERATED
    assert new_job({"app": "x"})["metadata"]["labels"] == {"app": "x", **GENERATED}


def test_a_job_keeps_its_own_labels() -> None:
    job: dict[str, Any] = {
        "kind": "Job",
        "metadata": {"name": "myjob", "uid": "1a2b3c", "labels": {"app": "x"}},
        "spec": {"template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [dict(CONTAINER)]}}},
    }
    JOB.default(job)
    JOB.prepare(job)
    assert job["metadata"]["labels"] == {"app": "x"}


def test_a_manual_selector_is_kept() -> None:
    job = new_job({"a": "b"}, manualSelector=True, selector={"matchLabels": {"a": "b"}})
    assert job["spec"]["template"]["metadata"]["labels"] == {"a": "b"}
    assert not errors_of(job)


# -- validation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"managedBy": "invalid custom controller name"},
            (
                'spec.managedBy: Invalid value: "invalid custom controller name": '
                'must be a domain-prefixed path (such as "acme.io/foo")'
            ),
        ),
        ({"managedBy": "acme.io/" + "x" * 60}, "spec.managedBy: Too long: may not be more than 63 bytes"),
        (
            {"successPolicy": {"rules": []}},
            'spec.successPolicy: Invalid value: {"Rules":[]}: requires indexed completion mode',
        ),
        (
            success_rules(),
            (
                "spec.successPolicy.rules: Required value: "
                "at least one rules must be specified when the successPolicy is specified"
            ),
        ),
        (
            success_rules({}),
            (
                "spec.successPolicy.rules[0]: Required value: "
                "at least one of succeededCount or succeededIndexes must be specified"
            ),
        ),
        (
            success_rules({"succeededIndexes": "invalid-format"}),
            (
                'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "invalid-format": '
                'error parsing succeededIndexes: cannot convert string to integer for index: "invalid"'
            ),
        ),
        (
            success_rules({"succeededCount": -1}),
            "spec.successPolicy.rules[0].succeededCount: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            success_rules({"succeededCount": 6}),
            (
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 6: "
                "must be less than or equal to 5 (the number of specified completions)"
            ),
        ),
        (
            success_rules({"succeededCount": 4, "succeededIndexes": "0-2"}),
            (
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 "
                "(the number of indexes in the specified succeededIndexes field)"
            ),
        ),
        (
            success_rules(*[{"succeededCount": 1}] * 21),
            "spec.successPolicy.rules: Too many: 21: must have at most 20 items",
        ),
        (
            failure_rules({"action": "FailJob"}),
            (
                "spec.podFailurePolicy.rules[0]: Invalid value: "
                "specifying one of OnExitCodes and OnPodConditions is required"
            ),
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [11, 11]}}),
            "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Duplicate value: 11",
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": {"operator": "In", "values": list(range(1, 257))}}),
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: 256: must have at most 255 items",
        ),
        (
            failure_rules(*[{"action": "FailJob", "onExitCodes": IN}] * 21),
            "spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items",
        ),
        (
            failure_rules({"action": "FailJob", "onPodConditions": [DISRUPTED] * 21}),
            "spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at most 20 items",
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [19, 11]}}),
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [19,11]: must be ordered",
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": {"operator": "In", "values": []}}),
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: []: at least one value is required",
        ),
        (
            failure_rules({"onExitCodes": IN}),
            (
                "spec.podFailurePolicy.rules[0].action: Required value: "
                'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'
            ),
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": {"values": [1]}}),
            'spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]',
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": IN, "onPodConditions": [DISRUPTED]}),
            (
                "spec.podFailurePolicy.rules[0]: Invalid value: "
                "specifying both OnExitCodes and OnPodConditions is not supported"
            ),
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0, 1]}}),
            "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
        ),
        (
            failure_rules({"action": "FailJob", "onExitCodes": {**IN, "containerName": "xyz"}}),
            (
                'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "xyz": '
                "must be one of the container or initContainer names in the pod template"
            ),
        ),
        (
            failure_rules({"action": "UnknownAction", "onExitCodes": IN}),
            (
                'spec.podFailurePolicy.rules[0].action: Unsupported value: "UnknownAction": '
                'supported values: "Count", "FailIndex", "FailJob", "Ignore"'
            ),
        ),
        (
            failure_rules({"action": "FailIndex", "onExitCodes": IN}),
            (
                'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": '
                "requires the backoffLimitPerIndex to be set"
            ),
        ),
        (
            failure_rules({"action": "Ignore", "onExitCodes": {"operator": "UnknownOperator", "values": [1]}}),
            (
                'spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value: "UnknownOperator": '
                'supported values: "In", "NotIn"'
            ),
        ),
        (
            failure_rules({"action": "Ignore", "onPodConditions": [{"type": "X", "status": "UnknownStatus"}]}),
            (
                'spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "UnknownStatus": '
                'supported values: "False", "True", "Unknown"'
            ),
        ),
        (
            {"podReplacementPolicy": "TerminatingOrFailed", **failure_rules({"action": "Ignore", "onExitCodes": IN})},
            'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"',
        ),
        (
            {"podReplacementPolicy": ""},
            'spec.podReplacementPolicy: Unsupported value: "": supported values: "Failed", "TerminatingOrFailed"',
        ),
        (
            {"restart_policy": "OnFailure", **failure_rules({"action": "Ignore", "onExitCodes": IN})},
            (
                'spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
                'only "Never" is supported when podFailurePolicy is specified'
            ),
        ),
        ({"parallelism": -1}, "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"),
        ({"backoffLimit": -1}, "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"backoffLimitPerIndex": 1},
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        ),
        (
            {**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 11},
            "spec.maxFailedIndexes: Invalid value: 11: must be less than or equal to completions",
        ),
        (
            {"completionMode": "Indexed", "completions": 100001, "backoffLimitPerIndex": 1},
            "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
        ),
        (
            {
                "completionMode": "Indexed",
                "completions": 200000,
                "parallelism": 50000,
                "backoffLimitPerIndex": 1,
                "maxFailedIndexes": 100,
            },
            (
                "spec.parallelism: Invalid value: 50000: must be less than or equal to 10000 "
                "when completions are above 100000 and used with backoff limit per index"
            ),
        ),
        (
            {**INDEXED, "maxFailedIndexes": 1},
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        ),
        (
            {"activeDeadlineSeconds": -1},
            "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"ttlSecondsAfterFinished": -1},
            "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"completionMode": "Indexed", "parallelism": 2},
            "spec.completions: Required value: when completion mode is Indexed",
        ),
        (
            {**INDEXED, "parallelism": 100001},
            (
                "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 "
                "when completion mode is Indexed"
            ),
        ),
        (
            {"restart_policy": "Always"},
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ),
        ({"manualSelector": True}, "spec.selector: Required value"),
        (
            {"labels": {"y": "z"}, "manualSelector": True, "selector": {"matchLabels": {"a": "b"}}},
            'spec.template.metadata.labels: Invalid value: {"y":"z"}: `selector` does not match template `labels`',
        ),
    ],
)
def test_job_errors(spec: dict[str, Any], expected: str) -> None:
    assert errors_of(new_job(**spec)) == [expected]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"managedBy": ""}, "spec.managedBy: Required value"),
        (
            {"managedBy": "example.com/a b"},
            (
                'spec.managedBy: Invalid value: "a b": Invalid path (regex used for validation is '
                "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
            ),
        ),
        (
            {**INDEXED, "completions": 200000, "maxFailedIndexes": 100001, "backoffLimitPerIndex": 1},
            "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000",
        ),
        (
            success_rules({"succeededIndexes": "1" * 65537}) | INDEXED,
            "spec.successPolicy.rules[0].succeededIndexes: Too long: may not be more than 65536 bytes",
        ),
        (
            {"completionMode": "Other"},
            'spec.completionMode: Unsupported value: "Other": supported values: "NonIndexed", "Indexed"',
        ),
    ],
)
def test_one_of_the_errors(spec: dict[str, Any], expected: str) -> None:
    assert expected in errors_of(new_job(**spec))


def test_the_restart_policy_must_not_be_always() -> None:
    path = "spec.template.spec.restartPolicy"
    assert errors_of(new_job(restart_policy="Always")) == [
        f'{path}: Required value: valid values: "OnFailure", "Never"'
    ]
    (_, found) = errors_of(new_job(restart_policy="Sometimes"))
    assert found == f'{path}: Unsupported value: "Sometimes": supported values: "OnFailure", "Never"'


def test_a_condition_pattern_needs_a_status() -> None:
    job = new_job(**failure_rules({"action": "Ignore", "onPodConditions": [{"type": "A", "status": ""}]}))
    job["spec"]["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] = ""
    assert (
        "spec.podFailurePolicy.rules[0].onPodConditions[0].status: Required value: "
        'valid values: ["False" "True" "Unknown"]' in errors_of(job)
    )


def test_a_condition_pattern_needs_a_type() -> None:
    found = errors_of(new_job(**failure_rules({"action": "Ignore", "onPodConditions": [{"status": "True"}]})))
    path = "spec.podFailurePolicy.rules[0].onPodConditions[0].type"
    assert found[0] == f'{path}: Invalid value: "": name part must be non-empty'


def test_wrong_generated_labels() -> None:
    job = new_job({"controller-uid": "4d5e6f"})
    found = errors_of(job)
    assert found[0].startswith("spec.template.metadata.labels[controller-uid]: Invalid value: ")
    assert found[0].endswith("must be '1a2b3c'")


def test_no_generated_labels() -> None:
    job = new_job()
    job["spec"]["template"]["metadata"]["labels"] = {}
    path = "spec.template.metadata.labels"
    assert f"{path}[controller-uid]: Required value: must be '1a2b3c'" in errors_of(job)


def test_a_manual_selector_may_use_other_labels() -> None:
    job = new_job(selector={"matchLabels": {"a": "b"}})
    assert any(error.endswith("`selector` not auto-generated") for error in errors_of(job))


def test_the_name_of_an_indexed_job_is_limited() -> None:
    job = new_job(**INDEXED)
    job["metadata"]["name"] = "x" * 62
    assert f"will not able to create pod with invalid DNS label: {'x' * 62}-4" in errors_of(job)[-1]


@pytest.mark.parametrize(
    ("text", "completions", "message"),
    [
        ("0-2,2", 5, "non-increasing order, previous: 2, current: 2"),
        ("3-1", 5, "non-increasing order, previous: 3, current: 1"),
        ("0-9", 5, 'too large index: "9"'),
        ("1-2-3", 5, "at most two parts separated by '-'"),
        ("x", 5, 'cannot convert string to integer for index: "x"'),
    ],
)
def test_succeeded_indexes(text: str, completions: int, message: str) -> None:
    rules = {"rules": [{"succeededIndexes": text}]}
    (found,) = errors_of(new_job(completionMode="Indexed", completions=completions, successPolicy=rules))
    assert message in found
