"""Untrusted values: valid ones pass unchanged, all others go to the decoder."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.schema.checks import check_of
from kubesim.api.schema.codec import DecodeError, decode

TIME, MICRO_TIME = "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z"


def check(type_name: str, value: Any) -> Any:
    read = check_of(type_name)
    assert read is not None
    return read(value)


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("string", "a"),
        ("bool", True),
        ("int32", -(1 << 31)),
        ("int64", 1 << 62),
        ("Time", TIME),
        ("MicroTime", MICRO_TIME),
        ("Quantity", "1Gi"),
        ("IntOrString", "25%"),
        ("IntOrString", 8080),
        ("map[string]string", {"a": "b"}),
    ],
)
def test_a_valid_value_is_unchanged(type_name: str, value: Any) -> None:
    assert check(type_name, value) == value


def test_a_list_becomes_a_tuple() -> None:
    assert check("[]string", ["a", "b"]) == ("a", "b")


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("string", 1),
        ("bool", 1),
        ("int32", 1 << 31),
        ("int32", True),
        ("int64", 1 << 63),
        ("Time", "yesterday"),
        ("MicroTime", 5),
        ("Quantity", "much"),
        ("IntOrString", 1 << 40),
        ("[]string", "ab"),
        ("[]string", [1]),
    ],
)
def test_an_invalid_value_is_rejected(type_name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        check(type_name, value)


def test_a_lease_keeps_its_microseconds() -> None:
    assert decode("LeaseSpec", {"renewTime": MICRO_TIME}) == {"renewTime": MICRO_TIME}
    assert decode("LeaseSpec", {"renewTime": None}).get("renewTime") in (None, "")
    with pytest.raises(DecodeError, match=r"cannot unmarshal|cannot parse"):
        decode("LeaseSpec", {"renewTime": 5})
