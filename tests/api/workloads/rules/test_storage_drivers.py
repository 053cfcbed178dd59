"""Validation of CSIDrivers, CSINodes and VolumeAttachments.

Adapted from upstream's pkg/apis/storage/validation/validation_test.go.
"""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.support.workloads.complaints import Json, changed, complaints, complaints_about_update


def test_drivers_nodes_and_attachments() -> None:
    assert complaints("CSIDriver", {"kind": "CSIDriver", "metadata": {"name": "d"}}) == []
    driver = {"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": {"fsGroupPolicy": "x"}}
    supported = '"File", "None", "ReadWriteOnceWithFSType"'
    assert complaints("CSIDriver", driver) == [
        f'spec.fsGroupPolicy: Unsupported value: "x": supported values: {supported}'
    ]
    one = {"name": "d", "nodeID": "n", "topologyKeys": ["k"], "allocatable": {"count": 3}}
    assert complaints("CSINode", {"spec": {"drivers": [one]}}) == []
    assert complaints("CSINode", {"spec": {"drivers": [one, {"name": "d", "allocatable": {"count": -1}}]}}) == [
        "spec.drivers[1].nodeID: Required value",
        "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
        'spec.drivers[1].name: Duplicate value: "d"',
    ]
    source = {"persistentVolumeName": "v"}
    attachment = {"spec": {"attacher": "d", "nodeName": "n", "source": source}}
    assert complaints("VolumeAttachment", attachment) == []
    assert complaints("VolumeAttachment", changed(attachment, {"spec/source": {}})) == [
        "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    ]


def test_the_republish_interval_is_at_least_ten_seconds() -> None:
    driver = {"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": {"nodeAllocatableUpdatePeriodSeconds": 9}}
    assert complaints("CSIDriver", driver) == [
        "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds"
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"spec/fsGroupPolicy": "File"}, []),
        ({"spec/attachRequired": False}, ["spec.attachedRequired: Invalid value: false: field is immutable"]),
        (
            {"spec/volumeLifecycleModes": ["Ephemeral"]},
            ['spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable'],
        ),
    ],
)
def test_mutable_fields_of_a_driver(changes: Json, expected: list[str]) -> None:
    old = {"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": {}}
    assert complaints_about_update("CSIDriver", changed(old, changes), deepcopy(old)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", ["spec.attacher: Required value"]), ("a" * 64, ["spec.attacher: Too long: may not be more than 63 bytes"])],
)
def test_the_name_of_a_driver(name: str, expected: list[str]) -> None:
    attachment = {"spec": {"attacher": name, "nodeName": "n", "source": {"persistentVolumeName": "v"}}}
    assert complaints("VolumeAttachment", attachment) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"persistentVolumeName": "v", "inlineVolumeSpec": {}},
            ["spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
        ),
        (
            {"persistentVolumeName": ""},
            ["spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName"],
        ),
    ],
)
def test_the_source_of_an_attachment(source: Json, expected: list[str]) -> None:
    assert complaints("VolumeAttachment", {"spec": {"attacher": "d", "nodeName": "n", "source": source}}) == expected


def test_an_attachment_is_immutable() -> None:
    old = {
        "metadata": {"name": "a"},
        "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
    }
    (found,) = complaints_about_update("VolumeAttachment", changed(old, {"spec/nodeName": "m"}), deepcopy(old))
    assert found.endswith(": field is immutable")


def test_the_volume_limit_of_a_node_is_optional() -> None:
    assert complaints("CSINode", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}) == []
