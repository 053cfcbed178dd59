"""Token Secrets of service accounts (v1.12), and their use by admission."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.signed_token import TokenError
from kubesim.cluster.controllers.namespaces import ensure_namespace
from kubesim.cluster.controllers.tokens import TokensController
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.served.answers.tokens import user_of_token
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from tests.support.played import Played, pod

NAME = "kubernetes.io/service-account.name"


@pytest.fixture
def store() -> Store:
    uids = iter(range(10_000))
    found = Store(lambda: 0, lambda: f"uid-{next(uids)}")
    found.binds_tokens = False
    TokensController(found)
    ensure_namespace(found, "default")
    return found


def tokens(store: Store, account: str = "default") -> list[ApiObject]:
    return [each for each in store.list("Secret", "default") if each.metadata.annotations.get(NAME) == account]


def references(store: Store, account: str = "default") -> list[str]:
    found = store.get("ServiceAccount", "default", account)
    return [each["name"] for each in found.extra.get("secrets") or ()]


def new_pod(store: Store, **spec: Any) -> Pod:
    found = create(store, Target(RESOURCES["Pod"], "default"), pod("web", **spec))
    assert isinstance(found, Pod)
    return found


def volumes(found: Pod) -> list[dict[str, Any]]:
    return list(found.to_json()["spec"].get("volumes") or ())


def test_each_service_account_has_a_secret_with_its_token(store: Store) -> None:
    create(store, Target(RESOURCES["ServiceAccount"], "default"), {"metadata": {"name": "builder"}})
    (secret,) = tokens(store, "builder")
    assert secret.metadata.name.startswith("builder-token-")
    assert references(store, "builder") == [secret.metadata.name]
    assert secret.extra["type"] == "kubernetes.io/service-account-token"
    assert base64.b64decode(secret.extra["data"]["namespace"]) == b"default"
    assert set(secret.extra["data"]) == {"ca.crt", "namespace", "token"}


def test_a_deleted_secret_is_recreated_and_is_deleted_with_its_account(store: Store) -> None:
    (old,) = references(store)
    store.remove("Secret", "default", old)
    (new,) = references(store)
    assert new != old
    store.remove("ServiceAccount", "default", "default")
    assert tokens(store) == []


def test_the_token_is_valid_while_its_secret_holds_it(store: Store) -> None:
    store.token_key = b"key"
    create(store, Target(RESOURCES["ServiceAccount"], "default"), {"metadata": {"name": "builder"}})
    (secret,) = tokens(store, "builder")
    token = base64.b64decode(secret.extra["data"]["token"]).decode()
    assert user_of_token(store, token).user.name == "system:serviceaccount:default:builder"
    other = {**secret.extra, "data": {**secret.extra["data"], "token": ""}}
    store.write(secret, secret.changed(extra=other))
    with pytest.raises(TokenError, match=r"^Token does not match server's copy$"):
        user_of_token(store, token)
    store.remove("Secret", "default", secret.metadata.name)
    with pytest.raises(TokenError, match=r"^Token has been invalidated$"):
        user_of_token(store, token)


def test_admission_mounts_the_secret_into_every_container(store: Store) -> None:
    found = new_pod(store)
    (name,) = references(store)
    assert volumes(found) == [{"name": name, "secret": {"secretName": name, "defaultMode": 420}}]
    (mount,) = found.to_json()["spec"]["containers"][0]["volumeMounts"]
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert mount == {"name": name, "readOnly": True, "mountPath": path}


def test_a_volume_of_that_secret_is_reused_but_not_one_of_that_name(store: Store) -> None:
    (name,) = references(store)
    own = {"name": "own", "secret": {"secretName": name}}
    found = new_pod(store, volumes=[own])
    assert [each["name"] for each in volumes(found)] == ["own"]
    store.remove("Pod", "default", "web")
    other = new_pod(store, volumes=[{"name": name, "emptyDir": {}}])
    added = volumes(other)[1]
    assert added["secret"]["secretName"] == name
    assert added["name"].startswith(f"{name}-")


def test_a_pod_is_rejected_while_its_account_has_no_token() -> None:
    store = Store(lambda: 0, lambda: "uid")
    store.binds_tokens = False
    ensure_namespace(store, "default")
    with pytest.raises(ApiError, match='No API token found for service account "default", retry after'):
        new_pod(store)
    assert volumes(new_pod(store, automountServiceAccountToken=False)) == []


@pytest.mark.parametrize("profile", ["v1.6", "v1.12", "v1.30", "v1.36"])
def test_the_token_in_a_running_pod(profile: str) -> None:
    """The container reads it at the path that every client library uses."""
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    command = ["sh", "-c", f"cat {path}/token && sleep 10000"]
    played = Played(profile=profile, objects=[pod("web", command=command)], duration="30s")
    assert len(played.starts("web")) == 1
