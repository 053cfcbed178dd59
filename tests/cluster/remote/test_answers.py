"""Decoding JSON responses within limits."""

from __future__ import annotations

import pytest

from kubesim.cluster.remote.answers import MAX_DEPTH, Undecodable, decode_json, decode_object


@pytest.mark.parametrize("depth", [1, MAX_DEPTH])
def test_the_maximum_depth_is_allowed(depth: int) -> None:
    assert decode_json(b"[" * depth + b"]" * depth) is not None
    assert decode_json(b'{"a":' * depth + b"1" + b"}" * depth) is not None


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500, 1_000_000])
def test_too_deep(depth: int) -> None:
    for body in (b"[" * depth + b"]" * depth, b'{"a":' * (depth // 2) + b"[" * depth + b"]" * depth):
        with pytest.raises(Undecodable):
            decode_json(body)


def test_many_shallow_values_are_not_deep() -> None:
    assert len(decode_json(b"[" + b"[]," * 1000 + b"[]]")) == 1001


@pytest.mark.parametrize(
    "body", [b"{}", b"null", b"[]", b'"Pod"', b'{"kind":"Secret"}', b'{"kind":["Pod"]}', b"", b"\xff"]
)
def test_an_unexpected_object_is_rejected(body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_object(body, "Pod")
