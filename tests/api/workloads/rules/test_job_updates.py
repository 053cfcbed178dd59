"""Mutable fields of a Job.

Adapted from: pkg/apis/batch/validation/validation_test.go TestValidateJobUpdate
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from tests.support.workloads.jobs import CONTAINER, DISRUPTED, IN, INDEXED, JOB, failure_rules, new_job, success_rules


def update_errors(old: dict[str, Any], change: dict[str, Any], template: dict[str, Any] | None = None) -> list[str]:
    new = deepcopy(old)
    new["spec"].update(change)
    new["spec"]["template"]["spec"].update(template or {})
    errors = Errors()
    JOB.validate_update(errors, new, old)
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("old", "change", "path"),
    [
        pytest.param({}, {"parallelism": 5, "activeDeadlineSeconds": 2, "backoffLimit": 1}, None, id="mutable fields"),
        pytest.param({}, {"suspend": True, "ttlSecondsAfterFinished": 3}, None, id="mutable too"),
        pytest.param({}, {"managedBy": "example.com/foo"}, "spec.managedBy", id="set managedBy"),
        pytest.param({}, {"completions": 2}, "spec.completions", id="completions of a non-indexed job"),
        pytest.param({}, {"completionMode": "Indexed"}, "spec.completionMode", id="completion mode"),
        pytest.param(INDEXED, success_rules({"succeededCount": 1}), "spec.successPolicy", id="add success policy"),
        pytest.param(
            {"podReplacementPolicy": "Failed"},
            failure_rules({"action": "Ignore", "onExitCodes": IN}),
            "spec.podFailurePolicy",
            id="add pod failure policy",
        ),
        pytest.param(INDEXED, {"backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex", id="set backoffLimitPerIndex"),
        pytest.param(
            {**INDEXED, "parallelism": 5}, {"completions": 8, "parallelism": 8}, None, id="completions in tandem"
        ),
        pytest.param({**INDEXED, "parallelism": 5}, {"parallelism": 2}, None, id="parallelism alone"),
        pytest.param(INDEXED, {"completions": 8}, "spec.completions", id="completions not in tandem"),
    ],
)
def test_job_updates(old: dict[str, Any], change: dict[str, Any], path: str | None) -> None:
    found = update_errors(new_job(**old), change)
    assert [error.partition(":")[0] for error in found] == ([] if path is None else [path])


@pytest.mark.parametrize(
    "change",
    [
        {"nodeSelector": {"a": "b"}},
        {"tolerations": [{"key": "a", "operator": "Exists"}]},
        {"affinity": {"nodeAffinity": {}}},
        {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}]},
    ],
)
def test_placement_and_resources_are_mutable_only_while_suspended(change: dict[str, Any]) -> None:
    assert [error.partition(":")[0] for error in update_errors(new_job(), {}, change)] == ["spec.template"]
    assert not update_errors(new_job(suspend=True), {}, change)
    started = new_job(suspend=True)
    started["status"] = {"startTime": "2026-01-01T00:00:00Z", "active": 1}
    assert [error.partition(":")[0] for error in update_errors(started, {}, change)] == ["spec.template"]


def test_the_image_of_a_suspended_job_is_immutable() -> None:
    found = update_errors(new_job(suspend=True), {}, {"containers": [{**CONTAINER, "image": "other"}]})
    assert [error.partition(":")[0] for error in found] == ["spec.template.spec"]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        pytest.param({"podFailurePolicy": None}, "spec.podFailurePolicy: Invalid value: null", id="pod failure policy"),
        pytest.param({"successPolicy": None}, "spec.successPolicy: Invalid value: null", id="success policy"),
        pytest.param(
            failure_rules({"action": "Ignore", "onPodConditions": [DISRUPTED]}),
            'spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"Ignore","OnExitCodes":null,'
            '"OnPodConditions":[{"Type":"DisruptionTarget","Status":"True"}]}]}',
            id="another pod failure policy",
        ),
    ],
)
def test_policies_are_immutable_and_printed_in_messages(change: dict[str, Any], shown: str) -> None:
    policies = failure_rules({"action": "Ignore", "onExitCodes": IN}) | success_rules({"succeededCount": 1})
    (found,) = update_errors(new_job(**(policies | INDEXED | {"podReplacementPolicy": "Failed"})), change)
    assert found == f"{shown}: field is immutable"


def test_the_pod_affinity_of_a_suspended_job_is_immutable() -> None:
    anti: dict[str, Any] = {"podAntiAffinity": {}}
    old = new_job(suspend=True)
    old["spec"]["template"]["spec"]["affinity"] = {**anti, "nodeAffinity": {}}
    assert not update_errors(old, {}, {"affinity": anti})
    assert [error.partition(":")[0] for error in update_errors(old, {}, {"affinity": None})] == ["spec.template.spec"]


def test_the_container_names_of_a_suspended_job_are_immutable() -> None:
    for containers in ([CONTAINER, {**CONTAINER, "name": "b"}], [{**CONTAINER, "name": "other"}]):
        assert len(update_errors(new_job(suspend=True), {}, {"containers": containers})) == 1
