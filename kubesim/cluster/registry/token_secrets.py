"""Secrets that hold the token of a service account, and their volume in a pod.

Mirrors: v1.12 plugin/pkg/admission/serviceaccount/admission.go getReferencedServiceAccountToken,
mountServiceAccountToken; pkg/serviceaccount/util.go IsServiceAccountToken
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.meta import ApiObject
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.store.store import Store

TOKEN_TYPE = "kubernetes.io/service-account-token"
ACCOUNT_NAME = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"


def is_token_of(secret: ApiObject, account: ApiObject) -> bool:
    annotations = secret.metadata.annotations
    return (
        secret.extra.get("type") == TOKEN_TYPE
        and annotations.get(ACCOUNT_NAME) == account.metadata.name
        and annotations.get(ACCOUNT_UID) == account.metadata.uid
    )


def referenced_token(store: Store, account: ApiObject) -> str:
    """The first Secret that the account refers to and that holds its token; empty if there is none."""
    for reference in account.extra.get("secrets") or ():
        name: str = reference.get("name", "")
        found = store.find("Secret", account.metadata.namespace, name)
        if found is not None and is_token_of(found, account):
            return name
    return ""


def token_secret_volume(spec: JsonObject, secret: str, new_suffix: Callable[[], str]) -> JsonObject:
    """The pod's own volume of this Secret, or a new one, named after it."""
    volumes = spec.get("volumes") or ()
    for volume in volumes:
        if (volume.get("secret") or {}).get("secretName") == secret:
            return dict(volume)
    taken = any(volume.get("name") == secret for volume in volumes)
    name = f"{secret}-{new_suffix()}" if taken else secret
    return {"name": name, "secret": {"secretName": secret, "defaultMode": 0o644}}
