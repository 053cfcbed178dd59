"""`spec.resources`: pod-level resources, and their limits on containers.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidatePodResources, TestValidatePodResourceConsistency,
TestValidatePodResourceNames
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from tests.support.validation.pods import JsonObject, about_spec, complaints, gates, pod_with


def about(pod: JsonObject, *containers: JsonObject) -> list[str]:
    given = [{"name": f"c{n}", "image": "i", "resources": resources} for n, resources in enumerate(containers)]
    found = about_spec({"resources": pod, "containers": given or [{"name": "c", "image": "i"}]})
    return [error.removeprefix("resources.") for error in found]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", []),
        ("memory", []),
        ("hugepages-2Mi", []),
        ("storage", ['Unsupported value: "storage": supported values: "cpu", "hugepages-", "memory"']),
        ("example.com/gpu", ['Unsupported value: "example.com/gpu": supported values: "cpu", "hugepages-", "memory"']),
        ("gpu", ['Invalid value: "gpu": must be a standard resource type or fully qualified']),
    ],
)
def test_names(name: str, expected: list[str]) -> None:
    found = about({"limits": {name: "2Mi", "cpu": "1"}})
    assert found == [f"limits[{name}]: {error}" for error in expected]


def test_claims_are_forbidden() -> None:
    assert about({"claims": [], "limits": {"cpu": "1"}}) == [
        "claims: Forbidden: claims may not be set for Resources at pod-level"
    ]


def test_windows_is_not_supported() -> None:
    spec = {"os": {"name": "windows"}, "resources": {"limits": {"gpu": "1"}, "claims": []}}
    assert about_spec(spec) == ["resources: Forbidden: may not be set for a windows pod"]


def test_without_the_gate_nothing_is_validated() -> None:
    pod = pod_with({"resources": {"limits": {"gpu": "1"}}})
    assert complaints(pod, gates(PodLevelResources=False)) == []


@pytest.mark.parametrize(
    ("pod", "containers", "expected"),
    [
        ({"requests": {"cpu": "2"}}, [{"requests": {"cpu": "1"}}, {"requests": {"cpu": "1"}}], []),
        (
            {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}},
            [{"requests": {"cpu": "1"}}, {"requests": {"cpu": "500m"}}],
            [
                'requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 1500m',
            ],
        ),
        ({"limits": {"cpu": "2"}}, [{"limits": {"memory": "1Gi"}}], []),
        (
            {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
            [{"limits": {"cpu": "1"}, "requests": {"cpu": "0"}}, {"limits": {"cpu": "2"}, "requests": {"cpu": "0"}}],
            ['containers[1][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1'],
        ),
        (
            {"limits": {"cpu": "1", "hugepages-2Mi": "2Mi"}, "requests": {"hugepages-2Mi": "2Mi"}},
            [{"limits": {"cpu": "0", "hugepages-2Mi": "2Mi"}}, {"limits": {"cpu": "0", "hugepages-2Mi": "2Mi"}}],
            [
                'requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container requests of 4Mi',
                'limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi',
            ],
        ),
    ],
)
def test_containers_must_fit(pod: JsonObject, containers: list[JsonObject], expected: list[str]) -> None:
    assert about(pod, *containers) == expected
