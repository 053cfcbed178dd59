"""Validation of label and resource names.

Adapted from: apimachinery/pkg/util/validation/validation_test.go TestIsQualifiedName, TestIsValidLabelValue;
pkg/apis/core/v1/helper/helpers_test.go TestIsNativeResource, TestIsExtendedResourceName
"""

from __future__ import annotations

import pytest

from kubesim.api.names import (
    is_dra_extended_resource_name,
    is_extended_resource_name,
    is_label_value,
    is_qualified_name,
    is_scalar_resource_name,
)


@pytest.mark.parametrize(
    "name", ["simple", "now-with-dashes", "1-starts.with_digits", "A", "example.com/Name", "n" * 63]
)
def test_qualified_names(name: str) -> None:
    assert is_qualified_name(name)


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "a b", "a/", "/a", "a/b/c", "Example.com/a", "n" * 64, f"{'p' * 254}/a", "a@b"]
)
def test_invalid_qualified_names(name: str) -> None:
    assert not is_qualified_name(name)


def test_label_values() -> None:
    assert all(map(is_label_value, ["", "a", "A_b.c-1", "v" * 63]))
    assert not any(map(is_label_value, ["-", "a b", "a/b", "v" * 64]))


@pytest.mark.parametrize(
    ("name", "extended", "scalar", "device_class"),
    [
        ("cpu", False, False, False),
        ("hugepages-2Mi", False, True, False),
        ("attachable-volumes-aws", False, True, False),
        ("example.com/gpu", True, True, True),
        ("sub.kubernetes.io/thing", False, True, False),
        ("deviceclass.resource.kubernetes.io/gpu", False, True, True),
        ("requests.example.com/gpu", False, False, False),
        (f"{'a' * 250}/b", False, False, False),  # too long for a quota
    ],
)
def test_resources(name: str, extended: bool, scalar: bool, device_class: bool) -> None:
    assert is_extended_resource_name(name) == extended
    assert is_scalar_resource_name(name) == scalar
    assert is_dra_extended_resource_name(name) == device_class
