"""Environment variables: values, fields, resources, keys and files, and envFrom.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateEnv, TestValidateEnvFrom, TestHugePagesEnv,
TestLocalStorageEnvWithFeatureGate, TestValidateEnvVarValueFromFileKeyRef, TestValidateFileKeyRefVolume
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_container, gates
from tests.support.validation.texts import CONFIG_KEY, ENV_NAME, KEY, LABEL, SUBDOMAIN

REQUIRED = "Required value"
FIELDS = (
    'supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", '
    '"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"'
)
RESOURCES = (
    'supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", '
    '"requests.ephemeral-storage", "requests.memory"'
)
BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"


def about_env(variable: JsonObject, options: PodValidationOptions | None = None) -> list[str]:
    return [error.removeprefix("env[0].") for error in about_container({"env": [variable]}, options=options)]


def about_value_from(source: JsonObject, options: PodValidationOptions | None = None) -> list[str]:
    return [error.removeprefix("valueFrom.") for error in about_env({"name": "A", "valueFrom": source}, options)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("abc", []),
        ("AbC_123.x-y", []),
        ("1 !", []),  # almost anything printable
        ("", [REQUIRED]),
        ("a=b", [f'Invalid value: "a=b": {ENV_NAME}']),
        ("a\nb", [f'Invalid value: "a\\nb": {ENV_NAME}']),
        ("é", [f'Invalid value: "é": {ENV_NAME}']),
    ],
)
def test_names(name: str, expected: list[str]) -> None:
    assert about_env({"name": name}) == [f"name: {error}" for error in expected]


class TestWhereAValueComesFrom:
    def test_an_empty_source_is_rejected(self) -> None:
        sources = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        assert about_env({"name": "A", "valueFrom": {}}) == [
            f'valueFrom: Invalid value: "": must specify one of: {sources}'
        ]

    def test_file_sources_need_their_gate(self) -> None:
        sources = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        assert about_env({"name": "A", "valueFrom": {}}, gates(EnvFiles=False)) == [
            f'valueFrom: Invalid value: "": must specify one of: {sources}'
        ]

    def test_a_value_and_a_source_exclude_each_other(self) -> None:
        source = {"fieldRef": {"fieldPath": "metadata.name"}}
        assert about_env({"name": "A", "value": "", "valueFrom": source}) == []
        assert about_env({"name": "A", "value": "x", "valueFrom": source}) == [
            'valueFrom: Invalid value: "": may not be specified when `value` is not empty'
        ]

    def test_two_sources_exclude_each_other(self) -> None:
        source = {"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "s", "key": "k"}}
        assert about_env({"name": "A", "valueFrom": source}) == [
            'valueFrom: Invalid value: "": may not have more than one field specified at a time'
        ]


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ({"fieldPath": "status.podIPs"}, []),
        ({"fieldPath": "spec.host"}, []),  # the node's field in very old clients
        ({"fieldPath": "metadata.labels['example.com/Key']"}, []),
        ({"fieldPath": "metadata.annotations['KEY']"}, []),
        ({}, [f"fieldRef.fieldPath: {REQUIRED}"]),
        ({"fieldPath": "status.phase"}, [f'fieldRef.fieldPath: Unsupported value: "status.phase": {FIELDS}']),
        ({"fieldPath": "metadata.labels"}, [f'fieldRef.fieldPath: Unsupported value: "metadata.labels": {FIELDS}']),
        (
            {"fieldPath": "metadata.whoops"},
            [
                'fieldRef.fieldPath: Invalid value: "metadata.whoops": error converting fieldPath: field label not supported: metadata.whoops',
            ],
        ),
        (
            {"fieldPath": "metadata.name['a']"},
            [
                "fieldRef.fieldPath: Invalid value: \"metadata.name['a']\": error converting fieldPath: field label does not support subscript: metadata.name['a']",
            ],
        ),
        (
            {"fieldPath": "['a']"},
            [
                "fieldRef.fieldPath: Invalid value: \"['a']\": error converting fieldPath: field label not supported: ['a']",
            ],
        ),
        (
            {"fieldPath": "metadata.name", "apiVersion": "v2"},
            [
                'fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2',
            ],
        ),
        ({"fieldPath": "metadata.labels['a b']"}, [f'fieldRef: Invalid value: "a b": name part {KEY}']),
        ({"fieldPath": "metadata.annotations['A B']"}, [f'fieldRef: Invalid value: "a b": name part {KEY}']),
    ],
)
def test_fields(ref: JsonObject, expected: list[str]) -> None:
    assert about_value_from({"fieldRef": ref}) == expected


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ({"resource": "limits.cpu", "divisor": "1m"}, []),
        ({"resource": "requests.memory", "divisor": "1Ki"}, []),
        ({"resource": "requests.hugepages-2Mi", "divisor": "1M"}, []),
        ({"resource": "limits.cpu", "divisor": "0"}, []),
        ({}, [f"resource: {REQUIRED}"]),
        ({"divisor": "5"}, [f"resource: {REQUIRED}"]),
        ({"resource": "limits.hugepages"}, [f'resource: Unsupported value: "limits.hugepages": {RESOURCES}']),
        (
            {"resource": "limits.memory.x", "divisor": "5"},
            [f'resource: Unsupported value: "limits.memory.x": {RESOURCES}'],
        ),
        (
            {"resource": "requests.cpu", "divisor": "2"},
            [
                'divisor: Invalid value: "requests.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
            ],
        ),
        (
            {"resource": "limits.memory", "divisor": "1m"},
            [
                f'divisor: Invalid value: "limits.memory": only divisor\'s values {BYTES} are supported with the memory resource',
            ],
        ),
        (
            {"resource": "limits.ephemeral-storage", "divisor": "2Mi"},
            [
                f'divisor: Invalid value: "limits.ephemeral-storage": only divisor\'s values {BYTES} are supported with the local ephemeral storage resource',
            ],
        ),
        (
            {"resource": "limits.hugepages-2Mi", "divisor": "2Mi"},
            [
                f'divisor: Invalid value: "limits.hugepages-2Mi": only divisor\'s values {BYTES} are supported with the hugepages resource',
            ],
        ),
    ],
)
def test_resources(ref: JsonObject, expected: list[str]) -> None:
    found = about_value_from({"resourceFieldRef": ref})
    assert found == [f"resourceFieldRef.{error}" for error in expected]


@pytest.mark.parametrize("kind", ["configMapKeyRef", "secretKeyRef"])
@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ({"name": "s", "key": "Key_1.x"}, []),
        ({}, [f'name: Invalid value: "": {SUBDOMAIN}', f"key: {REQUIRED}"]),
        ({"name": "s", "key": "a b"}, [f'key: Invalid value: "a b": {CONFIG_KEY}']),
        ({"name": "s", "key": "."}, ["key: Invalid value: \".\": must not be '.'"]),
        ({"name": "s", "key": ".."}, ["key: Invalid value: \"..\": must not be '..'"]),
        ({"name": "s", "key": "..a"}, ["key: Invalid value: \"..a\": must not start with '..'"]),
        ({"name": "s", "key": "k" * 254}, [f'key: Invalid value: "{"k" * 254}": must be no more than 253 characters']),
    ],
)
def test_keys_of_references(kind: str, ref: JsonObject, expected: list[str]) -> None:
    assert about_value_from({kind: ref}) == [f"{kind}.{error}" for error in expected]


class TestFiles:
    def about(self, ref: JsonObject, *volumes: JsonObject) -> list[str]:
        env = [{"name": "A", "valueFrom": {"fileKeyRef": ref}}]
        found = about_container({"env": env}, {"volumes": list(volumes)})
        return [error.removeprefix("env[0].valueFrom.fileKeyRef.") for error in found]

    def test_a_key_in_a_file_of_an_empty_dir(self) -> None:
        ref = {"key": "K", "volumeName": "v", "path": "a/b"}
        assert self.about(ref, {"name": "v", "emptyDir": {}}) == []

    def test_all_three_fields_are_required(self) -> None:
        assert self.about({}) == [
            f"key: {REQUIRED}",
            f"volumeName: {REQUIRED}",
            f"path: {REQUIRED}",
            'volumeName: Not found: ""',
        ]

    def test_formats(self) -> None:
        assert self.about({"key": "=", "volumeName": "V", "path": "../f"}) == [
            f'key: Invalid value: "=": {ENV_NAME}',
            f'volumeName: Invalid value: "V": {LABEL}',
            "path: Invalid value: \"../f\": must not contain '..'",
            'volumeName: Not found: "V"',
        ]

    def test_another_kind_of_volume_is_rejected(self) -> None:
        ref = {"key": "K", "volumeName": "v", "path": "f"}
        assert self.about(ref, {"name": "v", "hostPath": {"path": "/"}}) == [
            'volumeName: Invalid value: "v": referenced volume must be of type emptyDir'
        ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"configMapRef": {"name": "c"}}, []),
        ({"secretRef": {"name": "s-"}, "prefix": "P_"}, []),  # upstream validates it as the prefix of a name
        ({"configMapRef": {}}, [f"envFrom[0].configMapRef.name: {REQUIRED}"]),
        ({"secretRef": {"name": "A"}}, [f'envFrom[0].secretRef.name: Invalid value: "A": {SUBDOMAIN}']),
        ({"secretRef": {"name": "s"}, "prefix": "a=b"}, [f'envFrom[0].prefix: Invalid value: "a=b": {ENV_NAME}']),
        # Both errors have the path of the list, not of the element.
        ({}, ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']),
        (
            {"configMapRef": {"name": "c"}, "secretRef": {"name": "s"}},
            ['envFrom: Invalid value: "": may not have more than one field specified at a time'],
        ),
    ],
)
def test_env_from(source: JsonObject, expected: list[str]) -> None:
    assert about_container({"envFrom": [source]}) == expected
