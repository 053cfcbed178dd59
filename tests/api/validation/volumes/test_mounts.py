"""Volume mounts and devices of a container.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateVolumeMounts,
TestValidateSubpathMutuallyExclusive, TestValidateMountPropagation, TestAlphaValidateVolumeDevices
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from tests.support.validation.pods import JsonObject, about_container

VOLUMES: list[JsonObject] = [
    {"name": "abc", "emptyDir": {}},
    {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}},
]


def about(**container: Any) -> list[str]:
    return about_container(container, {"volumes": VOLUMES})


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ({"name": "abc", "mountPath": "/a"}, []),
        ({"name": "abc", "mountPath": "relative", "subPath": "a/..b"}, []),
        ({"name": "abc", "mountPath": "/a", "subPathExpr": "$(X)"}, []),
        ({"mountPath": "/a"}, ["[0].name: Required value", '[0].name: Not found: ""']),
        ({"name": "abc"}, ["[0].mountPath: Required value"]),
        ({"name": "x", "mountPath": "/a"}, ['[0].name: Not found: "x"']),
        # Sub-paths and the next two are reported at the list, not at the element.
        (
            {"name": "abc", "mountPath": "/a", "subPath": "/b"},
            ['.subPath: Invalid value: "/b": must be a relative path'],
        ),
        (
            {"name": "abc", "mountPath": "/a", "subPath": "b/.."},
            [".subPath: Invalid value: \"b/..\": must not contain '..'"],
        ),
        (
            {"name": "abc", "mountPath": "/a", "subPath": "a", "subPathExpr": "../b"},
            [
                '[0].subPathExpr: Invalid value: "../b": subPathExpr and subPath are mutually exclusive',
                ".subPathExpr: Invalid value: \"../b\": must not contain '..'",
            ],
        ),
        (
            {"name": "abc", "mountPath": "/a", "mountPropagation": "Sideways"},
            [
                '.mountPropagation: Unsupported value: "Sideways": supported values: "Bidirectional", "HostToContainer", "None"',
            ],
        ),
        (
            {"name": "abc", "mountPath": "/a", "mountPropagation": "Bidirectional"},
            [
                ".mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
            ],
        ),
        ({"name": "abc", "mountPath": "/a", "recursiveReadOnly": "Disabled"}, []),
        ({"name": "abc", "mountPath": "/a", "recursiveReadOnly": "Enabled", "readOnly": True}, []),
        (
            {
                "name": "abc",
                "mountPath": "/a",
                "recursiveReadOnly": "IfPossible",
                "mountPropagation": "HostToContainer",
            },
            [
                ".recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
                ".recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified",
            ],
        ),
        (
            {"name": "abc", "mountPath": "/a", "recursiveReadOnly": "Maybe"},
            ['.recursiveReadOnly: Unsupported value: "Maybe": supported values: "Disabled", "Enabled", "IfPossible"'],
        ),
    ],
)
def test_mounts(mount: JsonObject, expected: list[str]) -> None:
    assert about(volumeMounts=[mount]) == [f"volumeMounts{error}" for error in expected]


def test_a_privileged_container_may_propagate_both_ways() -> None:
    mount = {"name": "abc", "mountPath": "/a", "mountPropagation": "Bidirectional"}
    assert about(volumeMounts=[mount], securityContext={"privileged": True}) == []


def test_mount_paths_are_unique() -> None:
    mounts = [{"name": "abc", "mountPath": "/a"}, {"name": "claim", "mountPath": "/a"}]
    assert about(volumeMounts=mounts) == ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique']


def test_a_volume_is_either_mounted_or_a_device() -> None:
    mounts, devices = [{"name": "claim", "mountPath": "/a"}], [{"name": "claim", "devicePath": "/a"}]
    assert about(volumeMounts=mounts, volumeDevices=devices) == [
        'volumeMounts[0].name: Invalid value: "claim": must not already exist in volumeDevices',
        'volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices',
        'volumeDevices[0].name: Invalid value: "claim": must not already exist in volumeMounts',
        'volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts',
    ]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([{"name": "claim", "devicePath": "/dev/x"}], []),
        (
            [{}],
            [
                "[0].name: Required value",
                '[0].name: Not found: ""',
                "[0].devicePath: Required value",
            ],
        ),
        (
            [{"name": "abc", "devicePath": "/dev/x"}],
            [
                '[0].name: Invalid value: "abc": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
            ],
        ),
        (
            [{"name": "claim", "devicePath": "/a/../b"}],
            ["[0].devicePath: Invalid value: \"/a/../b\": can not contain backsteps ('..')"],
        ),
        (
            [{"name": "claim", "devicePath": "/a"}, {"name": "claim", "devicePath": "/a"}],
            [
                '[1].name: Invalid value: "claim": must be unique',
                '[1].devicePath: Invalid value: "/a": must be unique',
            ],
        ),
    ],
)
def test_devices(devices: list[JsonObject], expected: list[str]) -> None:
    assert about(volumeDevices=devices) == [f"volumeDevices{error}" for error in expected]
