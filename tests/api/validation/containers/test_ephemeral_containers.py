"""Ephemeral containers: forbidden in a new pod, but validated anyway.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateEphemeralContainers
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.validation.pods import JsonObject, about_spec

NOT_ON_CREATE = "ephemeralContainers: Forbidden: cannot be set on create"
REFUSED = "Forbidden: cannot be set for an Ephemeral Container"


def about_ephemeral(**container: Any) -> list[str]:
    spec = {
        "ephemeralContainers": [{"name": "debug", "image": "i", **container}],
        "initContainers": [{"name": "init", "image": "i"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    *found, last = about_spec(spec)
    assert last == NOT_ON_CREATE
    return [error.removeprefix("ephemeralContainers[0].") for error in found]


def test_names_are_unique_in_the_pod() -> None:
    containers = [{"name": name, "image": "i"} for name in ("c", "a", "a")]
    assert about_spec({"ephemeralContainers": containers}) == [
        'ephemeralContainers[0].name: Duplicate value: "c"',
        'ephemeralContainers[2].name: Duplicate value: "a"',
        NOT_ON_CREATE,
    ]


@pytest.mark.parametrize(("target", "expected"), [("c", []), ("init", []), ("debug", ["debug"]), ("x", ["x"])])
def test_the_target_must_not_be_ephemeral(target: str, expected: list[str]) -> None:
    found = about_ephemeral(targetContainerName=target)
    assert found == [f'targetContainerName: Not found: "{name}"' for name in expected]


def test_images_are_validated_here() -> None:
    found = about_ephemeral(image=" i", targetContainerName="x")
    assert found == [
        'image: Invalid value: " i": must not have leading or trailing whitespace',
        'targetContainerName: Not found: "x"',
    ]


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"resources": {}}, []),
        ({"resources": {"limits": {}}}, ["resources"]),
        ({"ports": [{"containerPort": 80}]}, ["ports"]),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}, ["resizePolicy"]),
        ({"restartPolicy": "Always", "restartPolicyRules": []}, ["restartPolicy", "restartPolicyRules"]),
        (
            {"lifecycle": {}, "startupProbe": {}, "readinessProbe": {}, "livenessProbe": {}},
            ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"],
        ),
    ],
)
def test_fields_that_make_it_part_of_the_service_are_forbidden(container: JsonObject, expected: list[str]) -> None:
    assert about_ephemeral(**container) == [f"{name}: {REFUSED}" for name in expected]


def test_sub_paths_are_forbidden() -> None:
    mounts = [
        {"name": "v", "mountPath": "/a"},
        {"name": "v", "mountPath": "/b", "subPath": "x"},
        {"name": "v", "mountPath": "/c", "subPathExpr": "$(X)"},
    ]
    assert about_ephemeral(volumeMounts=mounts) == [
        f"volumeMounts[1].subPath: {REFUSED}",
        f"volumeMounts[2].subPathExpr: {REFUSED}",
    ]
