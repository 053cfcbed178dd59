"""Seccomp and AppArmor profiles, and their deprecated annotations.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateSeccompAnnotationAndField,
TestValidateSeccompAnnotationsAndFieldsMatch, TestValidatePodTemplateSpecSeccomp, TestValidatePod (AppArmor),
TestValidateAppArmorProfileFormat
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from tests.support.validation.pods import JsonObject, about_container, about_spec, complaints, pod_with

TYPES = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"'
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"type": "RuntimeDefault"}, []),
        ({"type": "Localhost", "localhostProfile": "a/b"}, []),
        ({}, [".type: Required value: type is required when seccompProfile is set"]),
        ({"type": "Strict"}, [f'.type: Unsupported value: "Strict": {TYPES}']),
        ({"type": "Localhost"}, [".localhostProfile: Required value: must be set when seccomp type is Localhost"]),
        (
            {"type": "Localhost", "localhostProfile": "/a/.."},
            [
                '.localhostProfile: Invalid value: "/a/..": must be a relative path',
                ".localhostProfile: Invalid value: \"/a/..\": must not contain '..'",
            ],
        ),
        (
            {"type": "Unconfined", "localhostProfile": "a"},
            [
                '.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost',
            ],
        ),
    ],
)
def test_seccomp(profile: JsonObject, expected: list[str]) -> None:
    where = "securityContext.seccompProfile"
    assert about_spec({"securityContext": {"seccompProfile": profile}}) == [where + error for error in expected]
    assert about_container({"securityContext": {"seccompProfile": profile}}) == [where + error for error in expected]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"type": "Unconfined"}, []),
        ({"type": "Localhost", "localhostProfile": "p" * 4095}, []),
        ({}, [".type: Required value: type is required when appArmorProfile is set"]),
        ({"type": "Strict", "localhostProfile": "a"}, [f'.type: Unsupported value: "Strict": {TYPES}']),
        ({"type": "Localhost"}, [".localhostProfile: Required value: must be set when AppArmor type is Localhost"]),
        (
            {"type": "Localhost", "localhostProfile": ""},
            [".localhostProfile: Required value: must be set when AppArmor type is Localhost"],
        ),
        (
            {"type": "Localhost", "localhostProfile": " p" * 2048},
            [
                f'.localhostProfile: Invalid value: "{" p" * 2048}": must not be padded with whitespace',
                ".localhostProfile: Too long: may not be more than 4095 bytes",
            ],
        ),
        (
            {"type": "RuntimeDefault", "localhostProfile": "a"},
            ['.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost'],
        ),
    ],
)
def test_app_armor(profile: JsonObject, expected: list[str]) -> None:
    where = "securityContext.appArmorProfile"
    assert about_spec({"securityContext": {"appArmorProfile": profile}}) == [where + error for error in expected]
    assert about_container({"securityContext": {"appArmorProfile": profile}}) == [where + error for error in expected]


def about_annotation(key: str, value: str, **more: Any) -> list[str]:
    return complaints(pod_with(**more, annotations={key: value}), None, "metadata.annotations")


@pytest.mark.parametrize("key", [SECCOMP_POD, f"{SECCOMP}c", f"{SECCOMP}nobody"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("unconfined", []),
        ("runtime/default", []),
        ("docker/default", []),
        ("localhost/a/b", []),
        ("localhost//a", ['"/a": must be a relative path']),
        ("localhost/../a", ["\"../a\": must not contain '..'"]),
        ("mine", ['"mine": must be a valid seccomp profile']),
    ],
)
def test_seccomp_annotations(key: str, value: str, expected: list[str]) -> None:
    assert about_annotation(key, value) == [f".{key}: Invalid value: {error}" for error in expected]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("c", "", []),
        ("c", "runtime/default", []),
        ("c", "localhost/x", []),
        ("x", "unconfined", ['"x": container not found']),
        ("c", "docker/default", ['"docker/default": invalid AppArmor profile name: "docker/default"']),
    ],
)
def test_app_armor_annotations(name: str, value: str, expected: list[str]) -> None:
    key = f"{APP_ARMOR}{name}"
    assert about_annotation(key, value) == [f"[{key}]: Invalid value: {error}" for error in expected]


PROFILE = "Forbidden: {} profile in annotation and field must match"
TYPE = "Forbidden: {} type in annotation and field must match"


@pytest.mark.parametrize(
    ("profile", "annotation", "expected"),
    [
        ({"type": "Unconfined"}, "unconfined", []),
        ({"type": "Unconfined"}, "runtime/default", [f".type: {TYPE}"]),
        ({"type": "RuntimeDefault"}, "runtime/default", []),
        ({"type": "RuntimeDefault"}, "unconfined", [f".type: {TYPE}"]),
        ({"type": "Localhost", "localhostProfile": "a"}, "localhost/a", []),
        ({"type": "Localhost", "localhostProfile": "a"}, "localhost/b", [f".localhostProfile: {PROFILE}"]),
        ({"type": "Localhost", "localhostProfile": "a"}, "unconfined", [f".type: {TYPE}"]),
    ],
)
class TestAgreement:
    def test_seccomp_of_the_pod(self, profile: JsonObject, annotation: str, expected: list[str]) -> None:
        pod = pod_with({"securityContext": {"seccompProfile": profile}}, annotations={SECCOMP_POD: annotation})
        found = complaints(pod, None, "spec.securityContext.seccompProfile")
        assert found == [error.format("seccomp") for error in expected]

    def test_seccomp_of_a_container(self, profile: JsonObject, annotation: str, expected: list[str]) -> None:
        container = {"securityContext": {"seccompProfile": profile}}
        pod = pod_with(container=container, annotations={f"{SECCOMP}c": annotation})
        found = complaints(pod, None, "spec.containers[0].securityContext.seccompProfile")
        assert found == [error.format("seccomp") for error in expected]

    def test_app_armor_of_a_container(self, profile: JsonObject, annotation: str, expected: list[str]) -> None:
        container = {"securityContext": {"appArmorProfile": profile}}
        pod = pod_with(container=container, annotations={f"{APP_ARMOR}c": annotation})
        found = complaints(pod, None, "spec.containers[0].securityContext.appArmorProfile")
        assert found == [error.format("apparmor") for error in expected]

    def test_app_armor_of_the_pod_applies_to_its_containers(
        self, profile: JsonObject, annotation: str, expected: list[str]
    ) -> None:
        pod = pod_with({"securityContext": {"appArmorProfile": profile}}, annotations={f"{APP_ARMOR}c": annotation})
        found = complaints(pod, None, "spec.containers[0].securityContext.appArmorProfile")
        assert found == [error.format("apparmor") for error in expected]


def test_the_deprecated_default_profile_is_valid_only_for_seccomp() -> None:
    default = {"type": "RuntimeDefault"}
    seccomp, app_armor = {"seccompProfile": default}, {"appArmorProfile": default}
    assert about_annotation(f"{SECCOMP}c", "docker/default", container={"securityContext": seccomp}) == []
    found = about_annotation(f"{APP_ARMOR}c", "docker/default", container={"securityContext": app_armor})
    assert found[-1] == f"spec.containers[0].securityContext.appArmorProfile.type: {TYPE.format('apparmor')}"


def test_an_invalid_type_never_conflicts() -> None:
    pod = pod_with(
        container={"securityContext": {"seccompProfile": {"type": "X"}}}, annotations={f"{SECCOMP}c": "unconfined"}
    )
    assert complaints(pod) == [
        f'spec.containers[0].securityContext.seccompProfile.type: Unsupported value: "X": {TYPES}'
    ]


def test_app_armor_is_not_compared_on_windows() -> None:
    context = {"appArmorProfile": {"type": "Unconfined"}}
    annotations = {f"{APP_ARMOR}c": "runtime/default"}
    pod = pod_with({"os": {"name": "windows"}}, {"securityContext": context}, annotations=annotations)
    assert complaints(pod) == [
        "spec.containers[0].securityContext.appArmorProfile: Forbidden: cannot be set for a windows pod"
    ]
