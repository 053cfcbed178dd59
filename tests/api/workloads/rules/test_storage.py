"""Validation of claims, volumes and classes, from upstream's tables (validation_test.go of core and storage); each row
has a change and its errors.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.support.workloads.complaints import GONE, Json, changed, complaints, complaints_about_update

# -- volumes ----------------------------------------------------------------------------------------------------------

VOLUME: Json = {
    "kind": "PersistentVolume",
    "metadata": {"name": "v"},
    "spec": {"capacity": {"storage": "10G"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/foo"}},
}
MODES = '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
POLICIES = '"Delete", "Recycle", "Retain"'
TERMS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"spec/capacity": {"storage": "10"}}, []),
        ({"spec/storageClassName": "valid"}, []),
        ({"spec/persistentVolumeReclaimPolicy": "Retain"}, []),
        ({"spec/volumeMode": "Block"}, []),
        (
            {"spec/accessModes": ["fakemode"]},
            [f'spec.accessModes: Unsupported value: "fakemode": supported values: {MODES}'],
        ),
        (
            {"spec/persistentVolumeReclaimPolicy": "fake"},
            [f'spec.persistentVolumeReclaimPolicy: Unsupported value: "fake": supported values: {POLICIES}'],
        ),
        (
            {"spec/volumeMode": "fake"},
            ['spec.volumeMode: Unsupported value: "fake": supported values: "Block", "Filesystem"'],
        ),
        ({"spec/accessModes": ["ReadWriteOncePod"]}, []),
        (
            {"spec/accessModes": ["ReadWriteOncePod", "ReadWriteMany"]},
            ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        ({"spec/hostPath": GONE}, ["spec: Required value: must specify a volume type"]),
        (
            {"spec/capacity": {"storage": "0"}},
            ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
        ),
        ({"spec/accessModes": []}, ["spec.accessModes: Required value"]),
        (
            {"spec/gcePersistentDisk": {"pdName": "d", "fsType": "ext4"}},
            ["spec.gcePersistentDisk: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            {"spec/hostPath": {"path": "/"}, "spec/persistentVolumeReclaimPolicy": "Recycle"},
            ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
        (
            {"spec/hostPath": {"path": "/a/.."}, "spec/persistentVolumeReclaimPolicy": "Recycle"},
            [
                "spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'",
                "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
            ],
        ),
        (
            {"spec/hostPath": {"path": "/foo/.."}},
            ["spec.hostPath.path: Invalid value: \"/foo/..\": must not contain '..'"],
        ),
        ({"spec/nodeAffinity": {"required": TERMS}}, []),
        (
            {"spec/nodeAffinity": {"required": {"nodeSelectorTerms": []}}},
            ["spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term"],
        ),
        (
            {"spec/nodeAffinity": {}},
            ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
        ),
        (
            {"spec/volumeAttributesClassName": "gold"},
            ["spec.csi: Required value: has to be specified when using volumeAttributesClassName"],
        ),
        (
            {
                "spec/volumeAttributesClassName": "gold",
                "spec/hostPath": GONE,
                "spec/csi": {"driver": "d", "volumeHandle": "h"},
            },
            [],
        ),
        (
            {
                "spec/volumeAttributesClassName": "",
                "spec/hostPath": GONE,
                "spec/csi": {"driver": "d", "volumeHandle": "h"},
            },
            ["spec.volumeAttributesClassName: Required value: an empty string is disallowed"],
        ),
        (
            {"spec/hostPath": GONE, "spec/local": {"path": "/d"}},
            ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
        ),
        (
            {"spec/hostPath": GONE, "spec/local": {}, "spec/nodeAffinity": {"required": TERMS}},
            ["spec.local.path: Required value"],
        ),
        (
            {"spec/hostPath": GONE, "spec/local": {"path": "/a/../b"}, "spec/nodeAffinity": {"required": TERMS}},
            ["spec.local.path: Invalid value: \"/a/../b\": must not contain '..'"],
        ),
        ({"spec/hostPath": GONE, "spec/csi": {"driver": "d"}}, ["spec.csi.volumeHandle: Required value"]),
        ({"spec/hostPath": GONE, "spec/csi": {"volumeHandle": "h"}}, ["spec.csi.driver: Required value"]),
        (
            {"spec/hostPath": GONE, "spec/iscsi": {"targetPortal": "t", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
            [],
        ),
        ({"spec/hostPath": GONE, "spec/fc": {"targetWWNs": ["w"], "lun": 1}}, []),
    ],
)
def test_a_volume(changes: Json, expected: list[str]) -> None:
    assert complaints("PersistentVolume", changed(VOLUME, changes)) == expected


def test_a_volume_needs_a_capacity() -> None:
    missing, unsupported = complaints("PersistentVolume", changed(VOLUME, {"spec/capacity": {}}))
    assert missing == "spec.capacity: Required value"
    assert unsupported.startswith("spec.capacity: Unsupported value: ")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"spec/capacity": {"storage": "20G"}}, []),
        ({"spec/persistentVolumeReclaimPolicy": "Delete"}, []),
        ({"spec/nodeAffinity": {"required": TERMS}}, []),
        (
            {"spec/hostPath": {"path": "/bar"}},
            ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"],
        ),
        (
            {"spec/hostPath": GONE, "spec/nfs": {"server": "s", "path": "/"}},
            ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"],
        ),
        ({"spec/volumeMode": "Block"}, ['volumeMode: Invalid value: "Block": field is immutable']),
    ],
)
def test_mutable_fields_of_a_volume(changes: Json, expected: list[str]) -> None:
    assert complaints_about_update("PersistentVolume", changed(VOLUME, changes), deepcopy(VOLUME)) == expected


def test_the_node_affinity_of_a_volume_is_immutable() -> None:
    old = changed(VOLUME, {"spec/nodeAffinity": {"required": TERMS}})
    (problem,) = complaints_about_update("PersistentVolume", deepcopy(VOLUME), old)
    assert problem == "nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA"


# -- claims -----------------------------------------------------------------------------------------------------------

CLAIM: Json = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c", "namespace": "ns"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10G"}}, "storageClassName": "s"},
}
SOURCE = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"spec/accessModes": ["ReadWriteOncePod"]}, []),
        (
            {"spec/accessModes": ["ReadWriteOncePod", "ReadWriteMany"]},
            ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        ({"spec/accessModes": ["fake"]}, [f'spec.accessModes: Unsupported value: "fake": supported values: {MODES}']),
        ({"spec/accessModes": []}, ["spec.accessModes: Required value: at least 1 access mode is required"]),
        ({"spec/resources": {}}, ["spec.resources[storage]: Required value"]),
        ({"spec/resources": {"requests": {"memory": "1Gi"}}}, ["spec.resources[storage]: Required value"]),
        (
            {"spec/resources": {"requests": {"storage": "-1Gi"}}},
            ['spec.resources[storage]: Invalid value: "-1Gi": must be greater than zero'],
        ),
        (
            {"spec/resources": {"requests": {"storage": "0"}}},
            ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
        ),
        (
            {"spec/volumeMode": "fake"},
            ['spec.volumeMode: Unsupported value: "fake": supported values: "Block", "Filesystem"'],
        ),
        (
            {"spec/dataSource": SOURCE, "spec/dataSourceRef": {**SOURCE, "name": "t"}},
            ["spec: Invalid value: {}: must match dataSourceRef"],
        ),
    ],
)
def test_a_claim(changes: Json, expected: list[str]) -> None:
    assert complaints("PersistentVolumeClaim", changed(CLAIM, changes)) == expected


@pytest.mark.parametrize("path", ["spec/storageClassName", "spec/volumeAttributesClassName"])
def test_the_class_name_is_a_subdomain(path: str) -> None:
    (problem,) = complaints("PersistentVolumeClaim", changed(CLAIM, {path: "-invalid-"}))
    assert problem.startswith(f'{path.replace("/", ".")}: Invalid value: "-invalid-": a lowercase RFC 1123 subdomain')


BOUND = {"status": {"phase": "Bound", "capacity": {"storage": "10G"}}}
IMMUTABLE = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)
LESS = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
WITHOUT = {"spec/storageClassName": GONE}
SIZE = "spec/resources"


def annotated(name: str) -> Json:
    return {"metadata/annotations": {"volume.beta.kubernetes.io/storage-class": name}}


def sized(size: str) -> Json:
    return {"requests": {"storage": size}}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"spec/volumeName": "v"}, []),
        ({}, {}, []),
        (BOUND, {**BOUND, "spec/accessModes": ["ReadWriteMany"]}, [IMMUTABLE]),
        ({"spec/volumeName": "v"}, {"spec/volumeName": "w"}, [IMMUTABLE]),
        ({"spec/volumeMode": "Block"}, {"spec/volumeMode": "Block"}, []),
        (
            {"spec/volumeMode": "Filesystem"},
            {"spec/volumeMode": "Block"},
            [IMMUTABLE, 'volumeMode: Invalid value: "Block": field is immutable'],
        ),
        ({"spec/volumeMode": "Block"}, {}, [IMMUTABLE, 'volumeMode: Invalid value: "Filesystem": field is immutable']),
        (
            {**WITHOUT, **annotated("a")},
            {**WITHOUT, **annotated("b")},
            ['metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "b": field is immutable'],
        ),
        ({"metadata/annotations": {"a": "1"}}, {"metadata/annotations": {"a": "2", "b": "3"}}, []),
        (BOUND, {**BOUND, SIZE: sized("12G")}, []),
        ({}, {SIZE: sized("12G")}, [IMMUTABLE]),
        ({**WITHOUT, **annotated("s")}, {"spec/storageClassName": "s"}, []),
        (WITHOUT, {"spec/storageClassName": "s"}, []),
        ({}, {"spec/storageClassName": "other"}, [IMMUTABLE]),
        ({}, WITHOUT, [IMMUTABLE]),
        (
            {**WITHOUT, **annotated("a")},
            {"spec/storageClassName": "other"},
            [
                'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable',
                IMMUTABLE,
            ],
        ),
        ({**WITHOUT, **annotated("s")}, {"spec/storageClassName": "s", **annotated("s")}, []),
        ({**BOUND, SIZE: sized("20G")}, {**BOUND, SIZE: sized("15G")}, []),
        ({**BOUND, SIZE: sized("20G")}, {**BOUND, SIZE: sized("5G")}, [LESS]),
        ({**BOUND, SIZE: sized("20G")}, {**BOUND, SIZE: sized("10G")}, [LESS]),
        ({SIZE: sized("20G")}, {SIZE: sized("15G")}, [IMMUTABLE]),
        (BOUND, {**BOUND, "spec/volumeAttributesClassName": "gold"}, []),
        ({}, {"spec/volumeAttributesClassName": "gold"}, [IMMUTABLE]),
    ],
)
def test_mutable_fields_of_a_claim(before: Json, after: Json, expected: list[str]) -> None:
    new, old = changed(CLAIM, after), changed(CLAIM, before)
    assert complaints_about_update("PersistentVolumeClaim", new, old) == expected


@pytest.mark.parametrize(("name", "what"), [(GONE, "nil"), ("", "empty string")])
def test_an_attributes_class_in_use_cannot_be_removed(name: Any, what: str) -> None:
    status = {"phase": "Bound", "capacity": {"storage": "10G"}, "currentVolumeAttributesClassName": "gold"}
    old = changed(CLAIM, {"status": status, "spec/volumeAttributesClassName": "gold"})
    new = changed(CLAIM, {"status": status, "spec/volumeAttributesClassName": name})
    detail = "is forbidden when status.currentVolumeAttributesClassName is not nil"
    assert complaints_about_update("PersistentVolumeClaim", new, old) == [
        f"spec.volumeAttributesClassName: Forbidden: update to {what} {detail}"
    ]


# -- classes -----------------------------------------------------------------------------------------------------------

CLASS: Json = {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "kubernetes.io/foo"}


def terms(*expressions: Json) -> list[Json]:
    return [{"matchLabelExpressions": list(expressions)}]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"parameters": {"a": "b"}, "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer"}, []),
        ({"provisioner": ""}, ["provisioner: Required value"]),
        ({"parameters": {"": "b"}}, ['parameters: Invalid value: "": field can not be empty.']),
        (
            {"reclaimPolicy": "Recycle"},
            ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
        ),
        (
            {"volumeBindingMode": "x"},
            ['volumeBindingMode: Unsupported value: "x": supported values: "Immediate", "WaitForFirstConsumer"'],
        ),
        ({"allowedTopologies": terms({"key": "k", "values": ["a", "b"]})}, []),
        (
            {"allowedTopologies": terms({"key": "k", "values": []})},
            ["allowedTopologies[0].matchLabelExpressions[0].values: Required value"],
        ),
        (
            {"allowedTopologies": terms({"key": "k", "values": ["a", "a"]})},
            ['allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"'],
        ),
        (
            {"allowedTopologies": terms({"key": "k", "values": ["a"]}, {"key": "k", "values": ["b"]})},
            ['allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "k"'],
        ),
        (
            {"allowedTopologies": [*terms({"key": "k", "values": ["a"]}), *terms({"key": "k", "values": ["a"]})]},
            ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
        ),
    ],
)
def test_a_class(changes: Json, expected: list[str]) -> None:
    assert complaints("StorageClass", changed(CLASS, changes)) == expected


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("parameters", {"a": "b"}, '{"a":"b"}'),
        ("provisioner", "other", '"other"'),
        ("reclaimPolicy", "Retain", '"Retain"'),
        ("volumeBindingMode", "WaitForFirstConsumer", '"WaitForFirstConsumer"'),
    ],
)
def test_immutable_fields_of_a_class(field: str, value: Any, shown: str) -> None:
    found = complaints_about_update("StorageClass", changed(CLASS, {field: value}), deepcopy(CLASS))
    assert found == [f"{field}: Invalid value: {shown}: field is immutable"]


def test_a_class_can_enable_expansion() -> None:
    assert (
        complaints_about_update("StorageClass", changed(CLASS, {"allowVolumeExpansion": True}), deepcopy(CLASS)) == []
    )


def test_a_volume_with_a_negative_capacity() -> None:
    assert complaints("PersistentVolume", changed(VOLUME, {"spec/capacity": {"storage": "-1"}})) == [
        'spec.capacity[storage]: Invalid value: "-1": must be a valid resource quantity',
        'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
    ]


CSI_VOLUME = changed(
    VOLUME,
    {"spec/hostPath": GONE, "spec/csi": {"driver": "d", "volumeHandle": "h"}, "spec/volumeAttributesClassName": "a"},
)


def test_the_secrets_of_a_volume_have_names() -> None:
    secret = {"spec/csi": {"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {}}}
    path = "spec.csi.nodePublishSecretRef"
    assert complaints("PersistentVolume", changed(CSI_VOLUME, secret)) == [
        f"{path}.name: Required value",
        f"{path}.namespace: Required value",
    ]


def test_mutable_fields_of_a_csi_volume() -> None:
    expanding = {"name": "s", "namespace": "n"}
    new = changed(CSI_VOLUME, {"spec/csi": {**CSI_VOLUME["spec"]["csi"], "controllerExpandSecretRef": expanding}})
    assert complaints_about_update("PersistentVolume", new, deepcopy(CSI_VOLUME)) == []
    new = changed(CSI_VOLUME, {"spec/volumeAttributesClassName": GONE})
    assert complaints_about_update("PersistentVolume", new, deepcopy(CSI_VOLUME)) == [
        "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"
    ]
