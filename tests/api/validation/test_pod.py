"""The pod as a whole: order and format of the errors, and simple fields of the spec.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidatePodSpec, TestValidateRestartPolicy,
TestValidatePod
"""

from __future__ import annotations

import pytest

from kubesim.api.validation import validate_pod_create
from tests.support.validation.pods import JsonObject, about_spec, complaints, pod_with
from tests.support.validation.texts import LABEL, SUBDOMAIN


def test_a_minimal_pod_is_valid() -> None:
    assert complaints(pod_with()) == []


def test_errors_are_in_the_order_of_the_api_and_printed_as_a_list() -> None:
    pod = pod_with({"dnsPolicy": "Nope", "volumes": [{"name": "V"}]}, {"imagePullPolicy": "Maybe"}, namespace="Bad_NS")
    assert str(validate_pod_create(pod)) == (
        f'[metadata.namespace: Invalid value: "Bad_NS": {LABEL} '
        f'spec.volumes[0].name: Invalid value: "V": {LABEL} '
        'spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", '
        '"Never" spec.dnsPolicy: Unsupported value: "Nope": supported values: "ClusterFirstWithHostNet", '
        '"ClusterFirst", "Default", "None"]'
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"restartPolicy": "OnFailure", "activeDeadlineSeconds": 2147483647, "preemptionPolicy": "Never"}, []),
        (
            {"restartPolicy": "Sometimes"},
            ['restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
        ),
        (
            {"activeDeadlineSeconds": 0},
            ["activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        ),
        (
            {"serviceAccountName": "S", "nodeName": "N", "priorityClassName": "P", "runtimeClassName": "R"},
            [
                f'serviceAccountName: Invalid value: "S": {SUBDOMAIN}',
                f'nodeName: Invalid value: "N": {SUBDOMAIN}',
                f'priorityClassName: Invalid value: "P": {SUBDOMAIN}',
                f'runtimeClassName: Invalid value: "R": {SUBDOMAIN}',
            ],
        ),
        # An empty runtime class is a set value, an empty priority class is not.
        (
            {"serviceAccountName": "", "nodeName": "", "priorityClassName": "", "runtimeClassName": ""},
            [f'runtimeClassName: Invalid value: "": {SUBDOMAIN}'],
        ),
        ({"preemptionPolicy": ""}, ["preemptionPolicy: Required value"]),
        (
            {"preemptionPolicy": "Always"},
            ['preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"'],
        ),
    ],
)
def test_specs(spec: JsonObject, expected: list[str]) -> None:
    assert about_spec(spec) == expected
