"""Restart policies, restart rules and resize policies of containers.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateContainerRestartPolicy, TestValidateResizePolicy
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_container, gates

IN = {"operator": "In", "values": [42]}
WITHOUT_RESTARTING_ALL = gates(RestartAllContainersOnContainerExits=False)


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"restartPolicy": "Never"}, []),
        ({"restartPolicyRules": []}, []),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes": IN}]}, []),
        (
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": IN}]},
            ["restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
        ),
        (
            {"restartPolicy": "always"},
            ['restartPolicy: Unsupported value: "always": supported values: "Always", "Never", "OnFailure"'],
        ),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes": IN}] * 21},
            ["restartPolicyRules: Too many: 21: must have at most 20 items"],
        ),
    ],
)
def test_restart_policies(container: JsonObject, expected: list[str]) -> None:
    assert about_container(container) == expected


@pytest.mark.parametrize(
    ("rule", "options", "expected"),
    [
        ({"action": "RestartAllContainers", "exitCodes": IN}, gates(), []),
        ({"action": "Restart", "exitCodes": {"operator": "NotIn", "values": list(range(255))}}, gates(), []),
        (
            {},
            gates(),
            [
                'action: Unsupported value: "": supported values: "Restart", "RestartAllContainers"',
                "exitCodes: Required value: must be specified",
            ],
        ),
        (
            {"action": "RestartAllContainers", "exitCodes": IN},
            WITHOUT_RESTARTING_ALL,
            ['action: Unsupported value: "RestartAllContainers": supported values: "Restart"'],
        ),
        (
            {"action": "Restart", "exitCodes": {"operator": "Is", "values": list(range(256))}},
            gates(),
            [
                'exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
                "exitCodes.values: Too many: 256: must have at most 255 items",
            ],
        ),
    ],
)
def test_restart_rules(rule: JsonObject, options: PodValidationOptions, expected: list[str]) -> None:
    found = about_container({"restartPolicy": "Never", "restartPolicyRules": [rule]}, options=options)
    assert found == [f"restartPolicyRules[0].{error}" for error in expected]


def test_older_versions_allow_a_policy_only_for_init_containers() -> None:
    assert about_container({}, options=gates(ContainerRestartRules=False)) == []
    assert about_container({"restartPolicy": "Never"}, options=gates(ContainerRestartRules=False)) == [
        "restartPolicy: Forbidden: may not be set for non-init containers"
    ]


@pytest.mark.parametrize(
    ("policies", "pod_policy", "expected"),
    [
        ([("cpu", "NotRequired"), ("memory", "RestartContainer")], "Always", []),
        ([("cpu", "NotRequired")], "Never", []),
        (
            [("cpu", "NotRequired"), ("cpu", "RestartContainer")],
            "Always",
            ['resizePolicy[1]: Duplicate value: "cpu"'],
        ),
        # All errors but the duplicate are reported at the list.
        (
            [("gpu", "Gently")],
            "Always",
            [
                'resizePolicy: Unsupported value: "gpu": supported values: "cpu", "memory"',
                'resizePolicy: Unsupported value: "Gently": supported values: "NotRequired", "RestartContainer"',
            ],
        ),
        ([("", "")], "Always", ["resizePolicy: Required value", "resizePolicy: Required value"]),
        (
            [("cpu", "RestartContainer")],
            "Never",
            [
                "resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            ],
        ),
    ],
)
def test_resize_policies(policies: list[tuple[str, str]], pod_policy: str, expected: list[str]) -> None:
    given = [{"resourceName": name, "restartPolicy": policy} for name, policy in policies]
    assert about_container({"resizePolicy": given}, {"restartPolicy": pod_policy}) == expected
