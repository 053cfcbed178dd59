"""Defaults and validation of CronJobs.

Adapted from: pkg/apis/batch/validation/validation_test.go TestValidateCronJob, TestTimeZones,
TestValidateScheduleFormatPanicRecovery; pkg/apis/batch/v1/defaults_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.workloads.rules.batch import RULES
from tests.support.workloads.jobs import CONTAINER

CRON_JOB = RULES["CronJob"]


def new_cron_job(name: str = "mycronjob", job: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [dict(CONTAINER)]}}
    cron_job = {
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default", "uid": "1a2b3c"},
        "spec": {"schedule": "* * * * ?", "jobTemplate": {"spec": {"template": template, **(job or {})}}, **spec},
    }
    CRON_JOB.default(cron_job)
    return cron_job


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"schedule": "@hourly"}, []),
        ({"timeZone": "America/New_York"}, []),
        ({"timeZone": "UTC"}, []),
        ({"schedule": ""}, ["spec.schedule: Required value"]),
        (
            {"schedule": "error"},
            ['spec.schedule: Invalid value: "error": expected exactly 5 fields, found 1: [error]'],
        ),
        (
            {"schedule": "TZ=UTC 0 * * * *"},
            [
                (
                    'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": '
                    "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
                )
            ],
        ),
        ({"timeZone": ""}, ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']),
        (
            {"timeZone": "Amerrica/New_York"},
            ['spec.timeZone: Invalid value: "Amerrica/New_York": unknown time zone Amerrica/New_York'],
        ),
        ({"timeZone": "../etc"}, ['spec.timeZone: Invalid value: "../etc": unknown time zone ../etc']),
        (
            {"timeZone": "Local"},
            [
                (
                    'spec.timeZone: Invalid value: "Local": '
                    "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
                )
            ],
        ),
        (
            {"startingDeadlineSeconds": -1},
            ["spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"successfulJobsHistoryLimit": -1},
            ["spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"failedJobsHistoryLimit": -1},
            ["spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"concurrencyPolicy": "Sometimes"},
            ['spec.concurrencyPolicy: Unsupported value: "Sometimes": supported values: "Allow", "Forbid", "Replace"'],
        ),
        (
            {"job": {"parallelism": -1}},
            ["spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"job": {"selector": {"matchLabels": {"a": "b"}}}},
            [
                (
                    'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: '
                    "`selector` will be auto-generated"
                )
            ],
        ),
        (
            {"job": {"manualSelector": True}},
            ['spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"'],
        ),
        ({"name": "x" * 53}, [f'metadata.name: Invalid value: "{"x" * 53}": must be no more than 52 characters']),
    ],
)
def test_cron_job_errors(options: dict[str, Any], expected: list[str]) -> None:
    errors = Errors()
    CRON_JOB.validate(errors, new_cron_job(**options))
    assert [str(error) for error in errors] == expected


def test_cron_job_defaults() -> None:
    cron_job = new_cron_job()
    spec = cron_job["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert "parallelism" not in spec["jobTemplate"]["spec"]
