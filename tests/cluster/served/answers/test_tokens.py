"""Tokens of service accounts, and the users they authenticate."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.served.answers.tokens import user_of_token
from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

TOKENS = "/api/v1/namespaces/orc/serviceaccounts/default/token"


def ask(store: Store, **spec: Any) -> dict[str, Any]:
    return body_of(send(store, "POST", TOKENS, {"spec": spec}))


def test_a_token_authenticates_its_account() -> None:
    store = new_store()
    body = ask(store)
    assert (body["kind"], body["spec"]["expirationSeconds"]) == ("TokenRequest", 3600)
    user = user_of_token(store, body["status"]["token"])
    assert user is not None
    assert user.name == "system:serviceaccount:orc:default"
    assert "system:serviceaccounts:orc" in user.groups


def test_a_token_expires() -> None:
    store = new_store()
    token = ask(store, expirationSeconds=600)["status"]["token"]
    now = store.now()
    store.now = lambda: now + 601 * 1_000_000
    assert user_of_token(store, token) is None


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "a.e30.c", "..."])
def test_an_invalid_token_authenticates_no_user(token: str) -> None:
    assert user_of_token(new_store(), token) is None


def test_a_short_lifetime_is_rejected() -> None:
    body = ask(new_store(), expirationSeconds=10)
    problem = "spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes"
    assert body["message"] == f'TokenRequest.authentication.k8s.io "" is invalid: {problem}'


def test_a_token_can_be_bound_to_a_pod() -> None:
    store = new_store()
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "web"}
    assert ask(store, boundObjectRef=reference)["code"] == 404
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    send(store, "POST", "/api/v1/namespaces/orc/pods", pod)
    assert ask(store, boundObjectRef=reference)["status"]["token"]


def test_a_token_review_names_the_user() -> None:
    store = new_store()
    token = ask(store)["status"]["token"]
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    good = body_of(send(store, "POST", path, {"spec": {"token": token}}))["status"]
    assert (good["authenticated"], good["user"]["username"]) == (True, "system:serviceaccount:orc:default")
    assert "authenticated" not in body_of(send(store, "POST", path, {"spec": {"token": "x"}}))["status"]
