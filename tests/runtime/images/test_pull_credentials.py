"""The credentials of secrets that are tried for an image. Adapted from pkg/credentialprovider keyring_test.go."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.runtime.images.pull_credentials import InvalidPullSecret, lookup_pull_credentials


def secret(name: str, auths: Any, kind: str = "dockerconfigjson") -> ApiObject:
    content = json.dumps({"auths": auths} if kind == "dockerconfigjson" else auths)
    encoded = base64.b64encode(content.encode()).decode()
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    return ApiObject.from_json(
        {"kind": "Secret", "metadata": metadata, "type": f"kubernetes.io/{kind}", "data": {f".{kind}": encoded}}
    )


def users(image: str, *secrets: ApiObject) -> list[str]:
    return [auth.username for auth in lookup_pull_credentials(image, secrets)]


def user(name: str) -> dict[str, str]:
    return {"username": name, "password": "secret"}


@pytest.mark.parametrize(
    ("place", "image", "matches"),
    [
        ("r.example", "r.example/app:1", True),
        ("https://r.example", "r.example/app", True),
        ("http://r.example/v1/", "r.example/app", True),
        ("https://r.example/v2/team", "r.example/team/app", True),
        ("r.example/team", "r.example/teams/app", True),  # a prefix, not a path
        ("r.example/team", "r.example/app", False),
        ("r.example:5000", "r.example/app", False),
        ("r.example:5000", "r.example:5000/app@sha256:" + "0" * 64, True),
        ("*.example", "r.example/app", True),
        ("*.example", "a.r.example/app", False),
        ("r?.*.example", "r1.eu.example/app", True),
        ("other.example", "r.example/app", False),
        ("https://index.docker.io/v1/", "busybox", True),
        ("https://index.docker.io/v1/", "someone/app:1", True),
        ("https://index.docker.io/v1/", "r.example/app", False),
        ("docker.io", "busybox", True),
    ],
)
def test_registries_and_images(place: str, image: str, matches: bool) -> None:
    assert users(image, secret("s", {place: user("me")})) == ["me"] * matches


def test_the_more_specific_registry_is_first_and_all_matches_are_tried() -> None:
    one = secret("one", {"r.example": user("all"), "r.example/team": user("team")})
    two = secret("two", {"r.example": user("second")})
    assert users("r.example/team/app", one, two) == ["team", "all", "second"]
    assert users("r.example/app", two, one) == ["second", "all"]


def test_an_auth_field_overrides_name_and_password() -> None:
    auth = base64.b64encode(b"from:auth:field").decode()
    found = lookup_pull_credentials("r.example/app", [secret("s", {"r.example": {**user("me"), "auth": auth}})])
    assert [(a.username, a.password, a.source.name) for a in found] == [("from", "auth:field", "s")]
    bare = secret("s", {"r.example": {"auth": auth.rstrip("=")}})
    assert users("r.example/app", bare) == ["from"]


def test_the_older_format_and_secrets_of_other_types() -> None:
    assert users("r.example/app", secret("old", {"r.example": user("me")}, "dockercfg")) == ["me"]
    opaque = {**secret("s", {"r.example": user("me")}).to_json(), "type": "Opaque"}
    assert users("r.example/app", ApiObject.from_json(opaque)) == []


@pytest.mark.parametrize("entry", [{"auth": "%%%"}, {"auth": base64.b64encode(b"no colon").decode()}])
def test_an_unreadable_secret_stops_the_pull(entry: dict[str, str]) -> None:
    with pytest.raises(InvalidPullSecret):
        users("r.example/app", secret("s", {"r.example": entry}))


def test_the_same_credentials_have_the_same_hash() -> None:
    one, two, three = (
        lookup_pull_credentials("r.example/app", [secret(name, {"r.example": user(who)})])[0].source
        for name, who in (("a", "me"), ("b", "me"), ("c", "you"))
    )
    assert one.credential_hash == two.credential_hash != three.credential_hash
    assert not one.is_at(two)
