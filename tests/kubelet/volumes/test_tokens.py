"""Cases adapted from upstream's token_manager_test.go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.signed_token import signed, verified
from kubesim.api.timestamps import SECOND
from kubesim.errors import ApiError
from kubesim.kubelet.volumes.spec import VolumeError
from kubesim.kubelet.volumes.tokens import TokenManager

POD = Pod.from_json({"metadata": {"name": "web", "namespace": "ns", "uid": "u"}, "spec": {"serviceAccountName": "bot"}})


class Bench:
    def __init__(self) -> None:
        self.now = 0
        self.up = True
        self.requests = 0
        self.manager = TokenManager(lambda: self.now, self.read, lambda claims: signed(claims, b"key"))

    def read(self, kind: str, namespace: str, name: str) -> ApiObject:
        self.requests += 1
        if not self.up:
            raise ApiError(0, "", "connection refused")
        assert (kind, namespace, name) == ("ServiceAccount", "ns", "bot")
        return ApiObject()

    def at(self, second: int, **source: Any) -> str:
        self.now = second * SECOND
        return self.manager.get(POD, {"expirationSeconds": 3600, **source})


def test_a_token_names_its_audience_and_expiry() -> None:
    claims = verified(Bench().at(100, audience="vault"), b"key")
    assert (claims["iat"], claims["exp"], claims["aud"]) == (100, 3700, ["vault"])
    assert claims["sub"] == "system:serviceaccount:ns:bot"
    assert claims["kubernetes.io"]["pod"] == {"name": "web", "uid": "u"}


def test_a_token_is_kept_until_a_fifth_of_its_lifetime_is_left() -> None:
    bench = Bench()
    first = bench.at(0)
    assert bench.at(2880) == first
    assert bench.requests == 1
    assert bench.at(2881) != first
    assert bench.requests == 2


def test_a_long_token_is_kept_for_a_day() -> None:
    bench, day = Bench(), 24 * 3600
    week = {"expirationSeconds": 7 * day}
    first = bench.at(0, **week)
    assert bench.at(day, **week) == first
    assert bench.at(day + 1, **week) != first


def test_each_audience_has_its_own_token_and_a_deleted_pod_has_none() -> None:
    bench = Bench()
    assert bench.at(0) != bench.at(0, audience="vault")
    bench.manager.forget("u")
    bench.at(0)
    assert bench.requests == 3


def test_without_an_api_server_the_old_token_is_used_while_it_is_valid() -> None:
    bench = Bench()
    bench.up = False
    with pytest.raises(VolumeError, match=r"^failed to fetch token: connection refused$"):
        bench.at(0)
    bench.up = True
    first = bench.at(0)
    bench.up = False
    assert bench.at(3600) == first
    with pytest.raises(VolumeError, match=r'^token "bot"/"ns" expired and refresh failed: connection refused$'):
        bench.at(3601)
