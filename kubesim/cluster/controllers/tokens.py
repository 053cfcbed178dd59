"""Token Secrets of service accounts, which old admission plugins mounted into pods.

Each service account has a Secret with a token, and a reference to it. A deleted Secret is recreated.

Mirrors: v1.12 pkg/controller/serviceaccount/tokens_controller.go ensureReferencedToken
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from kubesim.api.meta import ApiObject
from kubesim.api.pods.signed_token import LEGACY_ISSUER
from kubesim.cluster.registry.bootstrap import ROOT_CA
from kubesim.cluster.registry.registry import Target, create, generate_name
from kubesim.cluster.registry.token_secrets import ACCOUNT_NAME, ACCOUNT_UID, TOKEN_TYPE, is_token_of, referenced_token
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent


class TokensController:
    """The controller; active from creation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.watch("ServiceAccount", self._account_changed)
        store.watch("Secret", self._secret_changed)

    def _account_changed(self, event: WatchEvent) -> None:
        account = event.object
        if event.type != "DELETED":
            self._ensure_token(account)
            return
        for secret in self._store.list("Secret", account.metadata.namespace):
            if is_token_of(secret, account):
                self._store.remove("Secret", secret.metadata.namespace, secret.metadata.name)

    def _secret_changed(self, event: WatchEvent) -> None:
        metadata = event.object.metadata
        name = metadata.annotations.get(ACCOUNT_NAME, "")
        account = self._store.find("ServiceAccount", metadata.namespace, name) if name else None
        if event.type == "DELETED" and account is not None:
            others = [each for each in account.extra.get("secrets") or () if each.get("name") != metadata.name]
            self._store.write(account, account.changed(extra={**account.extra, "secrets": others}))

    def _ensure_token(self, account: ApiObject) -> None:
        if referenced_token(self._store, account):
            return
        metadata = account.metadata
        target = Target(RESOURCES["Secret"], metadata.namespace)
        name = generate_name(self._store, target, f"{metadata.name}-token-")
        secret = create(self._store, target, _token_secret(account, name, self._store.signed_token))
        references = [*(account.extra.get("secrets") or ()), {"name": secret.metadata.name}]
        self._store.write(account, account.changed(extra={**account.extra, "secrets": references}))


def _token_secret(account: ApiObject, name: str, sign: Callable[[str], str]) -> dict[str, object]:
    metadata = account.metadata
    data = {"ca.crt": ROOT_CA, "namespace": metadata.namespace, "token": sign(_claims(account, name))}
    return {
        "metadata": {
            "name": name,
            "annotations": {ACCOUNT_NAME: metadata.name, ACCOUNT_UID: metadata.uid},
        },
        "type": TOKEN_TYPE,
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
    }


def _claims(account: ApiObject, secret: str) -> str:
    metadata, prefix = account.metadata, "kubernetes.io/serviceaccount/"
    claims = {
        "iss": LEGACY_ISSUER,
        f"{prefix}namespace": metadata.namespace,
        f"{prefix}secret.name": secret,
        f"{prefix}service-account.name": metadata.name,
        f"{prefix}service-account.uid": metadata.uid,
        "sub": f"system:serviceaccount:{metadata.namespace}:{metadata.name}",
    }
    return json.dumps(claims)
