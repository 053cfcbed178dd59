"""Tokens of service accounts, and the users they authenticate."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from kubesim.api.pods.signed_token import TokenError, signed
from kubesim.api.timestamps import SECOND
from kubesim.cluster.served.access import ApiUser
from kubesim.cluster.served.answers.tokens import user_of_token
from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

ACCOUNT = "/api/v1/namespaces/orc/serviceaccounts/default"
TOKENS = f"{ACCOUNT}/token"
PODS = "/api/v1/namespaces/orc/pods"
WEB: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {"nodeName": "fake-1", "containers": [{"name": "c", "image": "i"}]},
}
TO_WEB = {"kind": "Pod", "apiVersion": "v1", "name": "web"}


def ask(store: Store, **spec: Any) -> dict[str, Any]:
    return body_of(send(store, "POST", TOKENS, {"spec": spec}))


def new_token(store: Store, **spec: Any) -> str:
    return str(ask(store, **spec)["status"]["token"])


def user(store: Store, token: str) -> ApiUser:
    return user_of_token(store, token).user


def review(store: Store, token: str, **spec: Any) -> dict[str, Any]:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    return dict(body_of(send(store, "POST", path, {"spec": {"token": token, **spec}}))["status"])


def later(store: Store, seconds: int) -> None:
    now = store.now() + seconds * SECOND
    store.now = lambda: now


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_a_token_authenticates_its_account() -> None:
    store = new_store()
    body = ask(store)
    assert (body["kind"], body["spec"]["expirationSeconds"]) == ("TokenRequest", 3600)
    found = user(store, body["status"]["token"])
    assert found.name == "system:serviceaccount:orc:default"
    assert "system:serviceaccounts:orc" in found.groups
    assert found.uid == store.get("ServiceAccount", "orc", "default").metadata.uid


def test_a_token_expires_a_minute_after_its_time() -> None:
    """The clocks of the signer and the verifier may differ by a minute."""
    store = new_store()
    token = new_token(store, expirationSeconds=600)
    later(store, 660)
    assert user(store, token)
    later(store, 1)
    with pytest.raises(TokenError, match=r"^service account token has expired$"):
        user(store, token)


def test_a_token_is_not_valid_before_its_time() -> None:
    store = new_store()
    token = new_token(store)
    later(store, -61)
    with pytest.raises(TokenError, match=r"^service account token is not valid yet$"):
        user(store, token)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "a.e30.c",
        "...",
        "é.e30.c",
        "\udc80.e30.c",
        "a" * 100_000,
        f"a.{base64.urlsafe_b64encode(b'[' * 99_999).decode()}.c",
    ],
)
def test_a_text_that_is_no_token_authenticates_no_user(token: str) -> None:
    with pytest.raises(TokenError, match=r"^$"):
        user(new_store(), token)


FORGERIES: dict[str, tuple[Callable[[str, str, str], str], str]] = {
    "no signature": (lambda head, body, signature: f"{head}.{body}.", "cryptographic"),
    "a changed signature": (lambda head, body, signature: f"{head}.{body}.A{signature[1:]}A", "cryptographic"),
    "a padded signature": (lambda head, body, signature: f"{head}.{body}.{signature}=", "cryptographic"),
    "alg none": (lambda head, body, signature: f"{encoded({'alg': 'none'})}.{body}.", "cryptographic"),
    "alg None with the signature": (
        lambda head, body, signature: f"{encoded({'alg': 'None'})}.{body}.{signature}",
        "cryptographic",
    ),
    "no algorithm": (lambda head, body, signature: f"{encoded({'kid': ''})}.{body}.{signature}", "cryptographic"),
    "other claims": (
        lambda head, body, signature: (
            f"{head}.{encoded({**json.loads(base64.urlsafe_b64decode(body + '==')), 'exp': 1 << 40})}.{signature}"
        ),
        "cryptographic",
    ),
    "the key of another cluster": (
        lambda head, body, signature: signed(base64.urlsafe_b64decode(body + "==").decode(), b"another"),
        "no keys found",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_token_authenticates_no_user(name: str) -> None:
    store = new_store()
    forge, problem = FORGERIES[name]
    head, body, signature = new_token(store).split(".")
    forged = forge(head, body, signature)
    with pytest.raises(TokenError, match=problem):
        user(store, forged)
    status = review(store, forged)
    assert "authenticated" not in status
    assert status["error"].startswith("[invalid bearer token, ")


def test_a_store_without_a_key_accepts_no_token() -> None:
    store = new_store()
    store.token_key = b""
    with pytest.raises(TokenError, match="cryptographic"):
        user(store, new_token(store))


def test_a_token_for_another_audience_is_valid_there_alone() -> None:
    store = new_store()
    token = new_token(store, audiences=["vault", "other"])
    with pytest.raises(TokenError) as caught:
        user(store, token)
    target = '["https://kubernetes.default.svc"]'
    assert str(caught.value) == f'token audiences ["vault" "other"] is invalid for the target audiences {target}'
    status = review(store, token, audiences=["vault", "third"])
    assert (status["authenticated"], status["audiences"]) == (True, ["vault"])


def test_a_token_of_a_deleted_account_is_not_valid_even_if_the_account_is_recreated() -> None:
    store = new_store()
    token = new_token(store)
    old = store.get("ServiceAccount", "orc", "default").metadata.uid
    store.remove("ServiceAccount", "orc", "default")
    with pytest.raises(TokenError, match=r'^serviceaccounts "default" not found$'):
        user(store, token)
    send(store, "POST", ACCOUNT.rpartition("/")[0], {"metadata": {"name": "default"}})
    with pytest.raises(TokenError, match=rf"^service account UID \(.*\) does not match claim \({old}\)$"):
        user(store, token)


def test_a_token_bound_to_a_pod_is_valid_while_the_pod_exists() -> None:
    store = new_store()
    assert ask(store, boundObjectRef=TO_WEB)["code"] == 404
    send(store, "POST", PODS, WEB)
    token = new_token(store, boundObjectRef=TO_WEB)
    extra = dict(user(store, token).extra)
    assert extra["authentication.kubernetes.io/pod-name"] == ("web",)
    assert extra["authentication.kubernetes.io/node-name"] == ("fake-1",)
    assert extra["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")
    store.remove("Node", "", "fake-1")  # only informs
    old = store.get("Pod", "orc", "web").metadata.uid
    store.remove("Pod", "orc", "web")
    with pytest.raises(TokenError, match=r"^service account token has been invalidated$"):
        user(store, token)
    send(store, "POST", PODS, WEB)
    with pytest.raises(TokenError, match=rf"^pod UID \(.*\) does not match service account pod ref claim \({old}\)$"):
        user(store, token)


def test_a_token_is_bound_only_to_a_pod_of_the_account() -> None:
    store = new_store()
    send(store, "POST", ACCOUNT.rpartition("/")[0], {"metadata": {"name": "builder"}})
    send(store, "POST", PODS, {**WEB, "spec": {**WEB["spec"], "serviceAccountName": "builder"}})
    problem = "to pod running with different serviceaccount name."
    answer = ask(store, boundObjectRef=TO_WEB)
    assert (answer["code"], answer["message"]) == (400, f'cannot bind token for serviceaccount "default" {problem}')


def test_a_token_bound_to_a_pod_is_valid_for_a_minute_after_its_grace_period() -> None:
    store = new_store()
    send(store, "POST", PODS, WEB)
    token = new_token(store, boundObjectRef=TO_WEB)
    store.delete("Pod", "orc", "web", grace_s=30)
    later(store, 90)
    assert user(store, token)
    later(store, 1)
    with pytest.raises(TokenError, match="invalidated"):
        user(store, token)


@pytest.mark.parametrize(("kind", "namespace", "name"), [("Secret", "orc", "held"), ("Node", "", "fake-1")])
def test_a_token_bound_to_another_object_is_valid_while_it_exists(kind: str, namespace: str, name: str) -> None:
    store = new_store()
    send(store, "POST", "/api/v1/namespaces/orc/secrets", {"metadata": {"name": "held"}})
    token = new_token(store, boundObjectRef={"kind": kind, "apiVersion": "v1", "name": name})
    assert user(store, token)
    store.remove(kind, namespace, name)
    with pytest.raises(TokenError, match="invalidated"):
        user(store, token)


def test_a_short_lifetime_is_rejected() -> None:
    body = ask(new_store(), expirationSeconds=10)
    problem = "spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes"
    assert body["message"] == f'TokenRequest.authentication.k8s.io "" is invalid: {problem}'


def test_a_token_review_names_the_user() -> None:
    store = new_store()
    good = review(store, new_token(store))
    assert (good["authenticated"], good["user"]["username"]) == (True, "system:serviceaccount:orc:default")
    assert good["audiences"] == ["https://kubernetes.default.svc"]
    assert review(store, "x") == {"error": "invalid bearer token", "user": {}}


def test_a_token_review_needs_a_token() -> None:
    answer = send(new_store(), "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}})
    assert body_of(answer)["message"] == "token is required for TokenReview in authentication"
