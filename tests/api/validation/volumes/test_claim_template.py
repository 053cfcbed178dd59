"""The claim template of an ephemeral volume.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidatePersistentVolumeClaim,
TestValidateEphemeralVolume, TestAlphaVolumePVCDataSource, TestAnyDataSource, TestCrossNamespaceSource,
TestVolumeAttributesClass
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from tests.support.validation.pods import JsonObject, about_volume
from tests.support.validation.texts import KEY, LABEL, LABEL_VALUE, SUBDOMAIN

MODES = 'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
DEFAULT_GROUP = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}


def about_template(template: JsonObject) -> list[str]:
    where = "ephemeral.volumeClaimTemplate."
    return [error.removeprefix(where) for error in about_volume({"ephemeral": {"volumeClaimTemplate": template}})]


def about_claim(**more: Any) -> list[str]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}, **more}
    return [error.removeprefix("spec.") for error in about_template({"spec": spec})]


def test_an_empty_template() -> None:
    assert about_template({}) == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]


def test_only_labels_and_annotations_are_allowed() -> None:
    meta = {
        "annotations": {"a b": "1"},
        "labels": {"-": "?"},
        "name": "",
        "generation": 0,
        "generateName": "g",
        "uid": "u",
        "creationTimestamp": None,
        "finalizers": [],
    }
    spec = {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1"}}}
    assert about_template({"metadata": meta, "spec": spec}) == [
        f'metadata.annotations: Invalid value: "a b": name part {KEY}',
        f'metadata.labels: Invalid value: "-": name part {KEY}',
        f'metadata.labels: Invalid value: "?": {LABEL_VALUE}',
        "metadata.generateName: Forbidden: cannot be set",
        "metadata.uID: Forbidden: cannot be set",  # Go's name with a lower-case first letter
        "metadata.finalizers: Forbidden: cannot be set",  # empty, but not absent
    ]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"accessModes": ["ReadWriteOncePod"], "volumeMode": "Block", "storageClassName": "gold"}, []),
        ({"accessModes": ["ReadOnlyMany", "Mine"]}, [f'accessModes: Unsupported value: "Mine": {MODES}']),
        (
            {"accessModes": ["ReadWriteOncePod", "ReadWriteMany"]},
            ["accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        ({"accessModes": ["ReadWriteOncePod", "Mine"]}, [f'accessModes: Unsupported value: "Mine": {MODES}']),
        (
            {"selector": {"matchExpressions": [{"key": "k", "operator": "Like"}]}},
            ['selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator'],
        ),
        ({"resources": {}}, ["resources[storage]: Required value"]),
        (
            {"resources": {"requests": {"storage": "-10G"}}},
            ['resources[storage]: Invalid value: "-10G": must be greater than zero'],
        ),
        (
            {"resources": {"requests": {"storage": "0"}}},
            ['resources[storage]: Invalid value: "0": must be greater than zero'],
        ),
        ({"storageClassName": "", "volumeAttributesClassName": ""}, []),
        (
            {"storageClassName": "Gold_", "volumeAttributesClassName": "Big_"},
            [
                f'storageClassName: Invalid value: "Gold_": {SUBDOMAIN}',
                f'volumeAttributesClassName: Invalid value: "Big_": {SUBDOMAIN}',
            ],
        ),
        (
            {"volumeMode": "Tape"},
            ['volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
        ),
    ],
)
def test_the_claim(more: JsonObject, expected: list[str]) -> None:
    assert about_claim(**more) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"dataSource": SNAPSHOT}, []),
        ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "c"}}, []),
        ({"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT}, []),
        ({"dataSourceRef": {**SNAPSHOT, "namespace": "ns1"}}, []),
        (
            {"dataSource": {}},
            [
                "dataSource.name: Required value",
                "dataSource.kind: Required value",
                f'dataSource: Invalid value: "": {DEFAULT_GROUP}',
            ],
        ),
        (
            {"dataSource": {"kind": "VolumeSnapshot", "name": "s"}},
            [f'dataSource: Invalid value: "VolumeSnapshot": {DEFAULT_GROUP}'],
        ),
        (
            {"dataSourceRef": {**SNAPSHOT, "apiGroup": "_", "namespace": "Ns"}},
            [
                f'dataSourceRef.apiGroup: Invalid value: "_": {SUBDOMAIN}',
                f'dataSourceRef.namespace: Invalid value: "Ns": {LABEL}',
            ],
        ),
        # Upstream reports both at the claim and quotes an opaque path object.
        (
            {"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "name": "t"}},
            ["ephemeral.volumeClaimTemplate.spec: Invalid value: {}: must match dataSourceRef"],
        ),
        (
            {"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "namespace": "ns1"}},
            [
                "ephemeral.volumeClaimTemplate.spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified",
            ],
        ),
    ],
)
def test_data_sources(more: JsonObject, expected: list[str]) -> None:
    where = "ephemeral.volumeClaimTemplate."
    assert about_claim(**more) == [error.removeprefix(where) for error in expected]
