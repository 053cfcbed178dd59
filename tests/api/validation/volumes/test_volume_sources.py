"""Validation of each kind of volume.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateVolumes, TestValidateKeyToPath,
TestValidateNFSVolumeSource, TestValidateGlusterfs, TestValidateCSIVolumeSource, TestValidateFlexVolumeSource
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from tests.support.validation.pods import JsonObject, about_volume
from tests.support.validation.texts import FILE_MODE, LABEL, SUBDOMAIN

REQUIRED = "Required value"
PARTITION = "must be between 1 and 255, inclusive"
LUN = "must be between 0 and 255, inclusive"
PAIRS = "must be a host:port pair or multiple pairs separated by commas"
IQN = "iqn.2015-02.example.com:test"
BLOB = 'supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"'
MANAGED = 'supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"'


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("gitRepo", ["repository"]),
        ("awsElasticBlockStore", ["volumeID"]),
        ("secret", ["secretName"]),
        ("configMap", ["name"]),
        ("glusterfs", ["endpoints", "path"]),
        ("persistentVolumeClaim", ["claimName"]),
        ("rbd", ["monitors", "image"]),
        ("cinder", ["volumeID"]),
        ("cephfs", ["monitors"]),
        ("flexVolume", ["driver"]),
        ("azureFile", ["secretName", "shareName"]),
        ("vsphereVolume", ["volumePath"]),
        ("photonPersistentDisk", ["pdID"]),
        ("portworxVolume", ["volumeID"]),
        ("scaleIO", ["gateway", "system", "volumeName"]),
        ("csi", ["driver"]),
        ("storageos", ["volumeName"]),
        ("hostPath", ["path"]),
        ("iscsi", ["targetPortal", "iqn"]),
    ],
)
def test_required_fields_of_a_source(kind: str, names: list[str]) -> None:
    assert about_volume({kind: {}}) == [f"{kind}.{name}: {REQUIRED}" for name in names]
    source = {name: [IQN] if name == "monitors" else IQN if name == "iqn" else "x" for name in names}
    assert about_volume({kind: source}) == []


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"emptyDir": {"sizeLimit": "0"}}, []),
        (
            {"emptyDir": {"sizeLimit": "-1Gi"}},
            ["emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
        ),
        ({"hostPath": {"path": "/mnt", "type": "Socket"}}, []),
        (
            {"hostPath": {"path": "/a/../b", "type": "Door"}},
            [
                "hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
                'hostPath.type: Unsupported value: "Door": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
            ],
        ),
        ({"gitRepo": {"repository": "r", "directory": "target"}}, []),
        (
            {"gitRepo": {"repository": "r", "directory": "/d/.."}},
            [
                'gitRepo.directory: Invalid value: "/d/..": must be a relative path',
                "gitRepo.directory: Invalid value: \"/d/..\": must not contain '..'",
            ],
        ),
        # Validated under another name than in the error.
        (
            {"gcePersistentDisk": {"partition": 256}},
            [f"persistentDisk.pdName: {REQUIRED}", f"persistentDisk.partition: Invalid value: 256: {PARTITION}"],
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "x", "partition": -1}},
            [f"awsElasticBlockStore.partition: Invalid value: -1: {PARTITION}"],
        ),
        ({"nfs": {"server": "s", "path": "/p"}}, []),
        (
            {"nfs": {}},
            [
                f"nfs.server: {REQUIRED}",
                f"nfs.path: {REQUIRED}",
                'nfs.path: Invalid value: "": must be an absolute path',
            ],
        ),
        (
            {"flocker": {}},
            [f"flocker: {REQUIRED}: one of datasetName and datasetUUID is required"],
        ),
        (
            {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
            [
                'flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
                "flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
            ],
        ),
        ({"cinder": {"volumeID": "x", "secretRef": {}}}, [f"cinder.secretRef.name: {REQUIRED}"]),
        (
            {"storageos": {"volumeName": "A", "volumeNamespace": "a.b", "secretRef": {}}},
            [
                f'storageos.volumeName: Invalid value: "A": {LABEL}',
                'storageos.volumeNamespace: Invalid value: "a.b": must not contain dots',
                f"storageos.secretRef.name: {REQUIRED}",
            ],
        ),
        ({"storageos": {"volumeName": "a", "volumeNamespace": "b", "secretRef": {"name": "s"}}}, []),
    ],
)
def test_sources(volume: JsonObject, expected: list[str]) -> None:
    assert about_volume(volume) == expected


@pytest.mark.parametrize("kind", ["secret", "configMap"])
def test_files_from_keys(kind: str) -> None:
    name = "secretName" if kind == "secret" else "name"
    items: list[JsonObject] = [
        {},
        {"key": "k", "path": "../f", "mode": 0o1000},
        {"key": "k", "path": "..f", "mode": 0},
        {"key": "k", "path": "a/..", "mode": -1},
    ]
    assert about_volume({kind: {name: "s", "defaultMode": 0o1000, "items": items}}) == [
        f"{kind}.defaultMode: Invalid value: 512: {FILE_MODE}",
        f"{kind}.items[0].key: {REQUIRED}",
        f"{kind}.items[0].path: {REQUIRED}",
        f"{kind}.items[1].path: Invalid value: \"../f\": must not contain '..'",
        f"{kind}.items[1].mode: Invalid value: 512: {FILE_MODE}",
        f"{kind}.items[2].path: Invalid value: \"..f\": must not start with '..'",
        f"{kind}.items[3].path: Invalid value: \"a/..\": must not contain '..'",
        f"{kind}.items[3].mode: Invalid value: -1: {FILE_MODE}",
    ]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"lun": 255, "chapAuthSession": True, "secretRef": {"name": "s"}}, []),
        ({"iqn": "eui.0123456789ABCDEF"}, []),
        ({"iqn": f"naa.{'6' * 32}"}, []),
        ({"iqn": "abc"}, ['iqn: Invalid value: "abc": must be valid format starting with iqn, eui, or naa']),
        ({"iqn": "iqn.2015-02"}, ['iqn: Invalid value: "iqn.2015-02": must be valid format']),
        ({"iqn": "eui.0123"}, ['iqn: Invalid value: "eui.0123": must be valid format']),
        ({"iqn": "naa.0123"}, ['iqn: Invalid value: "naa.0123": must be valid format']),
        ({"lun": 256}, [f"lun: Invalid value: 256: {LUN}"]),
        ({"chapAuthDiscovery": True}, [f"secretRef: {REQUIRED}"]),
        ({"initiatorName": IQN}, []),
        (
            {"initiatorName": "x"},
            ['initiatorname: Invalid value: "x": must be valid format starting with iqn, eui, or naa'],
        ),
        ({"initiatorName": "iqn.x"}, ['initiatorname: Invalid value: "iqn.x": must be valid format']),
    ],
)
def test_iscsi(more: JsonObject, expected: list[str]) -> None:
    found = about_volume({"iscsi": {"targetPortal": "127.0.0.1", "iqn": IQN, **more}})
    assert found == [f"iscsi.{error}" for error in expected]


def test_an_iscsi_initiator_and_a_long_portal() -> None:
    portal = "t" * 62
    assert about_volume({"iscsi": {"targetPortal": portal, "iqn": IQN, "initiatorName": IQN}}) == []
    (error,) = about_volume({"iscsi": {"targetPortal": f"{portal}t", "iqn": IQN, "initiatorName": IQN}})
    assert error.startswith('name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal>')


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"registry": "r:7861", "volume": "v", "tenant": "t" * 64}, []),
        ({"registry": "r:1,[::1]:2,:3", "volume": "v"}, []),
        ({}, [f"registry: {REQUIRED}: {PAIRS}", f"volume: {REQUIRED}"]),
        ({"registry": "r", "volume": "v"}, [f'registry: Invalid value: "r": {PAIRS}']),
        # One error for each invalid pair.
        ({"registry": "r,::1:2", "volume": "v"}, [f'registry: Invalid value: "r,::1:2": {PAIRS}'] * 2),
        (
            {"registry": "r", "volume": "v", "tenant": "t" * 65},
            [f"tenant: {REQUIRED}: must be a UUID and may not exceed a length of 64 characters"],
        ),
    ],
)
def test_quobyte(source: JsonObject, expected: list[str]) -> None:
    assert about_volume({"quobyte": source}) == [f"quobyte.{error}" for error in expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"targetWWNs": ["w"], "lun": 1}, []),
        ({"wwids": ["w"]}, []),
        ({}, [f"targetWWNs: {REQUIRED}: must specify either targetWWNs or wwids, but not both"]),
        (
            {"targetWWNs": ["w"], "wwids": ["x"], "lun": 1},
            ['targetWWNs: Invalid value: ["w"]: targetWWNs and wwids can not be specified simultaneously'],
        ),
        ({"targetWWNs": ["w"]}, [f"lun: {REQUIRED}: lun is required if targetWWNs is specified"]),
        ({"targetWWNs": ["w"], "lun": 256}, [f"lun: Invalid value: 256: {LUN}"]),
        ({"wwids": ["w"], "lun": 256}, []),
    ],
)
def test_fibre_channel(source: JsonObject, expected: list[str]) -> None:
    assert about_volume({"fc": source}) == [f"fc.{error}" for error in expected]


@pytest.mark.parametrize("key", ["kubernetes.io/x", "k8s.io", "Storage.K8S.io/x/y", "a.kubernetes.io"])
def test_reserved_flex_options(key: str) -> None:
    volume = {"flexVolume": {"driver": "d", "options": {"kubernetes.io.example.com/x": "1", "mine": "2", key: "3"}}}
    assert about_volume(volume) == [
        f'flexVolume.options[{key}]: Invalid value: "{key}": kubernetes.io and k8s.io namespaces are reserved'
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"diskURI": "https://blob/vhds/d.vhd"}, []),
        ({"diskURI": "/subscriptions/s", "kind": "Managed", "cachingMode": "None"}, []),
        ({"diskURI": "/subscriptions/s"}, [f'diskURI: Unsupported value: "/subscriptions/s": {BLOB}']),
        ({"diskURI": "https://d", "kind": "Managed"}, [f'diskURI: Unsupported value: "https://d": {MANAGED}']),
        ({}, [f"diskURI: {REQUIRED}", f'diskURI: Unsupported value: "": {BLOB}']),
        (
            {"diskURI": "https://d", "kind": "Lent", "cachingMode": "Often"},
            [
                'cachingMode: Unsupported value: "Often": supported values: "None", "ReadOnly", "ReadWrite"',
                'kind: Unsupported value: "Lent": supported values: "Dedicated", "Managed", "Shared"',
            ],
        ),
    ],
)
def test_azure_disks(source: JsonObject, expected: list[str]) -> None:
    assert about_volume({"azureDisk": {"diskName": "d", **source}}) == [f"azureDisk.{error}" for error in expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"driver": "Test-Driver.io", "nodePublishSecretRef": {"name": "s"}}, []),
        ({"driver": "d" * 64}, ["driver: Too long: may not be more than 63 bytes"]),
        ({"driver": "a_b"}, [f'driver: Invalid value: "a_b": {SUBDOMAIN}']),
        ({"driver": "d", "nodePublishSecretRef": {}}, [f"nodePublishSecretRef.name: {REQUIRED}"]),
        # At the source itself, not at the reference.
        ({"driver": "d", "nodePublishSecretRef": {"name": "S"}}, [f'name: Invalid value: "S": {SUBDOMAIN}']),
    ],
)
def test_csi(source: JsonObject, expected: list[str]) -> None:
    assert about_volume({"csi": source}) == [f"csi.{error}" for error in expected]
