"""metadata: names, labels, owners, finalizers, managed fields; and label selectors.

Adapted from: apimachinery/pkg/api/validation/objectmeta_test.go; apis/meta/v1/validation/validation_test.go;
pkg/apis/core/validation/validation_test.go TestValidatePod
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from tests.support.validation.pods import JsonObject, about_metadata, about_spec
from tests.support.validation.texts import KEY, LABEL, LABEL_VALUE, SUBDOMAIN

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u"}


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"name": "a.b-c", "generateName": "a-"}, []),
        ({"name": "P"}, [f'name: Invalid value: "P": {SUBDOMAIN}']),
        ({"name": ""}, ["name: Required value: name or generateName is required"]),
        ({"generateName": "Ab-"}, [f'generateName: Invalid value: "Ab-": {SUBDOMAIN}']),
        ({"generateName": "-"}, [f'generateName: Invalid value: "-": {SUBDOMAIN}']),
        ({"namespace": ""}, ["namespace: Required value"]),
        ({"namespace": "Bad_NS"}, [f'namespace: Invalid value: "Bad_NS": {LABEL}']),
        ({"generation": -1}, ["generation: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)
def test_names(meta: JsonObject, expected: list[str]) -> None:
    assert about_metadata(**meta) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("simple", []),
        ("1.2_3-4", []),
        ("example.com/Name", []),
        ("", ["name part must be non-empty", f"name part {KEY}"]),
        ("/a", ["prefix part must be non-empty"]),
        ("a/", ["name part must be non-empty", f"name part {KEY}"]),
        ("n" * 64, ["name part must be no more than 63 bytes"]),
        ("Ex.com/a", [f"prefix part {SUBDOMAIN}"]),
        (f"{'p' * 254}/a", ["prefix part must be no more than 253 bytes"]),
        (
            "a/b/c",
            [f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
    ],
)
def test_label_keys(key: str, expected: list[str]) -> None:
    assert about_metadata(labels={key: ""}) == [f'labels: Invalid value: "{key}": {error}' for error in expected]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("A_b.c-1", []),
        ("a b", [LABEL_VALUE]),
        ("-", [LABEL_VALUE]),
        ("v" * 64, ["must be no more than 63 bytes"]),
    ],
)
def test_label_values(value: str, expected: list[str]) -> None:
    assert about_metadata(labels={"k": value}) == [f'labels: Invalid value: "{value}": {error}' for error in expected]
    found = about_spec({"nodeSelector": {"k": value}})
    assert found == [f'nodeSelector: Invalid value: "{value}": {error}' for error in expected]


def test_annotations() -> None:
    assert about_metadata(annotations={"Example.COM/Key": "anything at all"}) == []
    assert about_metadata(annotations={"A B": ""}) == [f'annotations: Invalid value: "A B": name part {KEY}']
    assert about_metadata(annotations={"k": "é" * 131071}) == []
    assert about_metadata(annotations={"k": "é" * 131072}) == [
        "annotations: Too long: may not be more than 262144 bytes"
    ]


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({}, []),
        ({"apiVersion": "apps/"}, ['.apiVersion: Invalid value: "apps/": version must not be empty']),
        ({"apiVersion": "a/b/c"}, ['.apiVersion: Invalid value: "a/b/c": version must not be empty']),
        (
            {"apiVersion": "", "kind": "", "name": "", "uid": ""},
            [
                '.apiVersion: Invalid value: "": version must not be empty',
                '.kind: Invalid value: "": must not be empty',
                '.name: Invalid value: "": must not be empty',
                '.uid: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"apiVersion": "v1", "kind": "Event", "blockOwnerDeletion": False},
            [
                ': Invalid value: {"apiVersion":"v1","kind":"Event","name":"rs","uid":"u","blockOwnerDeletion":false}: /v1, Kind=Event is disallowed from being an owner',
            ],
        ),
        (
            {"apiVersion": "/v1", "kind": "Event"},
            [
                ': Invalid value: {"apiVersion":"/v1","kind":"Event","name":"rs","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
            ],
        ),
    ],
)
def test_owners(owner: JsonObject, expected: list[str]) -> None:
    found = about_metadata(ownerReferences=[{**OWNER, **owner}])
    assert found == [f"ownerReferences{error}" for error in expected]


def test_only_one_owner_is_the_controller() -> None:
    first, second = ({**OWNER, "name": name, "controller": True} for name in "ab")
    assert about_metadata(ownerReferences=[first, {**second, "controller": False}]) == []
    shown = ",".join(
        f'{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{name}","uid":"u","controller":true}}' for name in "ab"
    )
    assert about_metadata(ownerReferences=[first, second]) == [
        f'ownerReferences: Invalid value: [{shown}]: Only one reference can have Controller set to true. Found "true" in references for ReplicaSet/a and ReplicaSet/b',
    ]


def test_finalizers() -> None:
    assert about_metadata(finalizers=["example.com/f", "kubernetes", "orphan"]) == []
    assert about_metadata(finalizers=["x", "/y", "orphan", "foregroundDeletion"]) == [
        'finalizers: Invalid value: "/y": prefix part must be non-empty',
        'finalizers: Invalid value: ["x","/y","orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
        'finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
    ]


class TestManagedFields:
    def about(self, **entry: Any) -> list[str]:
        found = about_metadata(managedFields=[{"operation": "Update", "fieldsType": "FieldsV1", **entry}])
        return [error.removeprefix("managedFields[0].") for error in found]

    def test_entries(self) -> None:
        assert self.about(operation="Apply", manager="m" * 128, subresource="s" * 256) == []
        assert self.about(fieldsType="") == []
        assert self.about(operation="Try", fieldsType="V2", manager="m" * 129, subresource="s" * 257) == [
            'operation: Invalid value: "Try": must be `Apply` or `Update`',
            'fieldsType: Invalid value: "V2": must be `FieldsV1`',
            "manager: Too long: may not be more than 128 bytes",
            "subresource: Too long: may not be more than 256 bytes",
        ]

    def test_the_manager_is_printable(self) -> None:
        assert self.about(manager="é\x7fa\n") == [
            'manager: Invalid value: "é\\x7fa\\n": invalid character U+007F (at position 2)',
            'manager: Invalid value: "é\\x7fa\\n": invalid character U+000A (at position 4)',
        ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ({"operator": "NotIn", "values": [""]}, []),
        ({"operator": "Exists"}, []),
        ({"operator": "In"}, [".values: Required value: must be specified when `operator` is 'In' or 'NotIn'"]),
        (
            {"operator": "DoesNotExist", "values": ["a"]},
            [".values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
        ),
        (
            {"key": "a b", "operator": "Gt", "values": ["?"]},
            [
                '.operator: Invalid value: "Gt": not a valid selector operator',
                f'.key: Invalid value: "a b": name part {KEY}',
                f'.values[0]: Invalid value: "?": {LABEL_VALUE}',
            ],
        ),
    ],
)
def test_label_selectors(expression: JsonObject, expected: list[str]) -> None:
    selector = {"matchExpressions": [{"key": "k", **expression}]}
    spread = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    found = about_spec({"topologySpreadConstraints": [spread]})
    where = "topologySpreadConstraints[0].labelSelector.matchExpressions[0]"
    assert found == [where + error for error in expected]
