"""The volumes of a pod: unique names, and one source each.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateVolumes, TestValidateEphemeralVolume
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_spec, about_volume, complaints, pod_with
from tests.support.validation.texts import LABEL, SUBDOMAIN

TWICE = "Forbidden: may not specify more than 1 volume type"
CLAIM = {
    "volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("123-name", []),
        ("", ["name: Required value"]),
        ("a.b.c", ['name: Invalid value: "a.b.c": must not contain dots']),
        ("n" * 64, [f'name: Invalid value: "{"n" * 64}": must be no more than 63 characters']),
        ("Not a dns label", [f'name: Invalid value: "Not a dns label": {LABEL}']),
    ],
)
def test_names(name: str, expected: list[str]) -> None:
    assert about_volume({"name": name, "emptyDir": {}}) == expected


def test_volume_names_are_unique() -> None:
    volumes = [{"name": "abc", "emptyDir": {}}, {"name": "abc", "emptyDir": {}}]
    assert about_spec({"volumes": volumes}) == ['volumes[1].name: Duplicate value: "abc"']


def test_only_a_valid_volume_reserves_its_name() -> None:
    volumes = [{"name": "abc", "nfs": {"server": "s", "path": "p"}}, {"name": "abc", "emptyDir": {}}]
    assert about_spec({"volumes": volumes}) == ['volumes[0].nfs.path: Invalid value: "p": must be an absolute path']


def test_a_volume_without_a_source_is_an_empty_dir() -> None:
    assert about_volume({}) == []


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"emptyDir": {}, "hostPath": {"path": ""}}, [f"hostPath: {TWICE}"]),
        # The first is the first in upstream's order, not in the manifest.
        ({"secret": {"secretName": "s"}, "gitRepo": {}}, ["gitRepo.repository: Required value", f"secret: {TWICE}"]),
        # Two have irregular spellings.
        ({"emptyDir": {}, "cephfs": {}, "downwardAPI": {}}, [f"cephFS: {TWICE}", f"downwarAPI: {TWICE}"]),
        ({"emptyDir": {}, "gcePersistentDisk": {}}, [f"gcePersistentDisk: {TWICE}"]),
        (
            {"nfs": {"server": "s", "path": "/"}, "image": {}, "ephemeral": {}},
            [f"ephemeral: {TWICE}", f"image: {TWICE}"],
        ),
    ],
)
def test_exactly_one_source(volume: JsonObject, expected: list[str]) -> None:
    assert about_volume(volume) == expected


def test_an_iscsi_initiator_limits_the_name_even_of_a_rejected_source() -> None:
    initiator = "iqn.2015-02.example.com:init"
    volume = {"emptyDir": {}, "iscsi": {"initiatorName": initiator, "targetPortal": "t" * 63}}
    assert about_volume(volume) == [
        f"iscsi: {TWICE}",
        'name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    ]


@pytest.mark.parametrize(
    ("image", "options", "expected"),
    [
        ({"reference": "i", "pullPolicy": "Never"}, PodValidationOptions(resource_is_pod=True), []),
        ({}, PodValidationOptions(resource_is_pod=True), ["image.reference: Required value"]),
        ({}, PodValidationOptions(), []),  # the kubelet does not set the kind of a static pod
        (
            {"reference": "i", "pullPolicy": "Sometimes"},
            PodValidationOptions(),
            ['image.pullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"'],
        ),
    ],
)
def test_images(image: JsonObject, options: PodValidationOptions, expected: list[str]) -> None:
    assert about_volume({"image": image}, options) == expected


class TestEphemeralVolumes:
    def test_a_template_is_required(self) -> None:
        assert about_volume({"ephemeral": {}}) == ["ephemeral.volumeClaimTemplate: Required value"]

    def test_the_claim_name_combines_pod_and_volume(self) -> None:
        pod = pod_with({"volumes": [{"name": "v", "ephemeral": CLAIM}]}, name="n" * 252)
        assert complaints(pod) == [
            f'spec.volumes[0].name: Invalid value: "v": PVC name "{"n" * 252}-v": must be no more than 253 characters'
        ]

    def test_without_both_names_nothing_is_checked(self) -> None:
        assert about_volume({"name": "", "ephemeral": CLAIM}) == ["name: Required value"]
        pod = pod_with({"volumes": [{"name": "V", "ephemeral": CLAIM}]}, name="")
        assert complaints(pod) == [
            "metadata.name: Required value: name or generateName is required",
            f'spec.volumes[0].name: Invalid value: "V": {LABEL}',
        ]

    def test_an_invalid_claim_name_is_reported_before_the_invalid_volume_name(self) -> None:
        assert about_volume({"name": "V", "ephemeral": CLAIM}) == [
            f'name: Invalid value: "V": PVC name "p-V": {SUBDOMAIN}',
            f'name: Invalid value: "V": {LABEL}',
        ]

    def test_the_claim_is_exclusive(self) -> None:
        volumes = [{"name": "v", "ephemeral": CLAIM}, {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}}]
        assert about_spec({"volumes": volumes}) == [
            'volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-v": must not reference a PVC that gets created for an ephemeral volume',
        ]
