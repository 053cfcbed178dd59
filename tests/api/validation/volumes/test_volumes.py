"""The volumes of a pod: names, and one source each.

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


def test_no_two_volumes_have_one_name() -> None:
    volumes = [{"name": "abc", "emptyDir": {}}, {"name": "abc", "emptyDir": {}}]
    assert about_spec({"volumes": volumes}) == ['volumes[1].name: Duplicate value: "abc"']


def test_a_name_is_taken_only_by_a_volume_without_a_fault() -> None:
    volumes = [{"name": "abc", "nfs": {"server": "s", "path": "p"}}, {"name": "abc", "emptyDir": {}}]
    assert about_spec({"volumes": volumes}) == ['volumes[0].nfs.path: Invalid value: "p": must be an absolute path']


def test_no_source_means_an_empty_directory() -> None:
    assert about_volume({}) == []


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"emptyDir": {}, "hostPath": {"path": ""}}, [f"hostPath: {TWICE}"]),
        # Upstream's order decides which is the first, not the manifest's.
        ({"secret": {"secretName": "s"}, "gitRepo": {}}, ["gitRepo.repository: Required value", f"secret: {TWICE}"]),
        # Two are spelled in a way of their own.
        ({"emptyDir": {}, "cephfs": {}, "downwardAPI": {}}, [f"cephFS: {TWICE}", f"downwarAPI: {TWICE}"]),
        ({"emptyDir": {}, "gcePersistentDisk": {}}, [f"gcePersistentDisk: {TWICE}"]),
        (
            {"nfs": {"server": "s", "path": "/"}, "image": {}, "ephemeral": {}},
            [f"ephemeral: {TWICE}", f"image: {TWICE}"],
        ),
    ],
)
def test_one_source(volume: JsonObject, expected: list[str]) -> None:
    assert about_volume(volume) == expected


def test_an_iscsi_initiator_limits_the_name_also_of_a_refused_source() -> None:
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
        ({}, PodValidationOptions(), []),  # the kubelet does not say that a static pod is a pod
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
    def test_needs_a_template(self) -> None:
        assert about_volume({"ephemeral": {}}) == ["ephemeral.volumeClaimTemplate: Required value"]

    def test_the_claim_is_named_after_pod_and_volume(self) -> None:
        pod = pod_with({"volumes": [{"name": "v", "ephemeral": CLAIM}]}, name="n" * 252)
        assert complaints(pod) == [
            f'spec.volumes[0].name: Invalid value: "v": PVC name "{"n" * 252}-v": must be no more than 253 characters'
        ]

    def test_without_one_of_the_names_there_is_nothing_to_check(self) -> None:
        assert about_volume({"name": "", "ephemeral": CLAIM}) == ["name: Required value"]
        pod = pod_with({"volumes": [{"name": "V", "ephemeral": CLAIM}]}, name="")
        assert complaints(pod) == [
            "metadata.name: Required value: name or generateName is required",
            f'spec.volumes[0].name: Invalid value: "V": {LABEL}',
        ]

    def test_a_bad_claim_name_comes_before_the_bad_volume_name(self) -> None:
        assert about_volume({"name": "V", "ephemeral": CLAIM}) == [
            f'name: Invalid value: "V": PVC name "p-V": {SUBDOMAIN}',
            f'name: Invalid value: "V": {LABEL}',
        ]

    def test_nobody_else_may_use_the_claim(self) -> None:
        volumes = [{"name": "v", "ephemeral": CLAIM}, {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}}]
        assert about_spec({"volumes": volumes}) == [
            'volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-v": must not reference a PVC that gets created for an ephemeral volume',
        ]
