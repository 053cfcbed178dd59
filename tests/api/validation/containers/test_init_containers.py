"""Init containers: the common rules, and the fields allowed only for sidecars (restartPolicy: Always).

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateInitContainers, TestValidateContainerRestartPolicy
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_spec, gates

PROBE = {"exec": {"command": ["x"]}}
NOT_STAYING = "Forbidden: may not be set for init containers without restartPolicy=Always"
RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
RULES_NEED_A_POLICY = "restartPolicy: Required value: must specify restartPolicy when restart rules are used"


def about_init(options: PodValidationOptions | None = None, **container: Any) -> list[str]:
    found = about_spec({"initContainers": [{"name": "init", "image": "i", **container}]}, options)
    return [error.removeprefix("initContainers[0].") for error in found]


def test_names_are_unique_across_regular_containers() -> None:
    names = ("c", "a", "a", "", "")
    containers = [{"name": name, "image": "i"} for name in names]
    assert about_spec({"initContainers": containers}) == [
        'initContainers[0].name: Duplicate value: "c"',
        'initContainers[2].name: Duplicate value: "a"',
        "initContainers[3].name: Required value",
        "initContainers[4].name: Required value",
    ]


def test_duplicate_host_ports_are_reported_at_the_first_container_as_upstream() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]
    containers = [{"name": name, "image": "i", "ports": ports[:1]} for name in "ab"]
    assert about_spec({"initContainers": containers}) == []
    containers[1]["ports"] = ports
    assert about_spec({"initContainers": containers}) == [
        'initContainers[0].ports[1].hostPort: Duplicate value: "TCP//80"'
    ]


def test_hooks_and_probes_need_a_sidecar() -> None:
    given: JsonObject = {
        "lifecycle": {"preStop": PROBE},
        "livenessProbe": PROBE,
        "readinessProbe": PROBE,
        "startupProbe": PROBE,
    }
    assert about_init(restartPolicy="Always", **given) == []
    assert about_init(**given) == [f"{name}: {NOT_STAYING}" for name in given]
    assert about_init(restartPolicy="Always", livenessProbe={}, lifecycle={"postStart": {}}) == [
        "lifecycle.postStart: Required value: must specify a handler type",
        "livenessProbe: Required value: must specify a handler type",
    ]


@pytest.mark.parametrize(
    ("container", "options", "expected"),
    [
        ({"restartPolicy": "OnFailure", "restartPolicyRules": [RULE]}, gates(), []),
        ({"restartPolicy": "Always", "restartPolicyRules": [RULE]}, gates(), []),
        ({"restartPolicyRules": [RULE]}, gates(), [RULES_NEED_A_POLICY]),
        (
            {"restartPolicy": "Sometimes"},
            gates(),
            ['restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"'],
        ),
        ({"restartPolicy": "Always"}, gates(RestartAllContainersOnContainerExits=False), []),
        (
            {"restartPolicy": "Always", "restartPolicyRules": [RULE]},
            gates(RestartAllContainersOnContainerExits=False),
            [
                "restartPolicyRules: Forbidden: restartPolicyRules are not allowed for init containers with restart policy Always",
            ],
        ),
        ({"restartPolicy": "Always"}, gates(ContainerRestartRules=False), []),
        (
            {"restartPolicy": "Never"},
            gates(ContainerRestartRules=False),
            ['restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
    ],
)
def test_restart_policies(container: JsonObject, options: PodValidationOptions, expected: list[str]) -> None:
    assert about_init(options, **container) == expected


def test_a_resize_may_restart_only_sidecars() -> None:
    policies = [
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]
    assert about_init(restartPolicy="Always", resizePolicy=policies) == []
    assert about_init(resizePolicy=policies) == [
        "resizePolicy[1].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers",
    ]


def test_resize_policies_need_the_resize_gate() -> None:
    policies = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    assert about_init(gates(InPlacePodVerticalScaling=False), resizePolicy=policies) == [
        'resizePolicy: Invalid value: [{"ResourceName":"cpu","RestartPolicy":"NotRequired"}]: must not be set for init containers',
    ]
