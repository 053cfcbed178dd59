"""Tokens of service accounts: TokenRequest, and the user that a token identifies.

A token has the format and claims of a real one, but no secret signs it: any client can forge it.

Mirrors: pkg/registry/core/serviceaccount/storage token.go; pkg/serviceaccount claims.go
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import SECOND, format_time
from kubesim.api.validation.field import Errors
from kubesim.cluster.problems import bad_request, conflict, invalid, not_found
from kubesim.cluster.served.access import ApiUser
from kubesim.cluster.store.kinds import RESOURCES, resource_of
from kubesim.cluster.store.store import Store

JsonObject = dict[str, Any]

_GROUP, _ISSUER = "authentication.k8s.io", "https://kubernetes.default.svc"
_DEFAULT_S, _LEAST_S, _MOST_S = 3600, 600, 1 << 32
_BOUND_TO = {"Pod": "v1", "Secret": "v1", "Node": "v1"}


def request_token(store: Store, account: ApiObject, request: JsonObject) -> JsonObject:
    """The TokenRequest with its token filled in."""
    metadata = request.get("metadata") or {}
    if metadata.get("name") and metadata["name"] != account.metadata.name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({account.metadata.name})"
        )
    spec = {"audiences": [], "expirationSeconds": _DEFAULT_S, "boundObjectRef": None} | (request.get("spec") or {})
    spec["expirationSeconds"] = _DEFAULT_S if spec["expirationSeconds"] is None else spec["expirationSeconds"]
    spec["audiences"] = spec["audiences"] or [_ISSUER]
    _check(spec)
    bound = _bound(store, account, spec["boundObjectRef"])
    expires = store.now() + spec["expirationSeconds"] * SECOND
    shown = {"name": account.metadata.name, "namespace": account.metadata.namespace}
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {**shown, "creationTimestamp": format_time(store.now())} | _managed(metadata),
        "spec": spec,
        "status": {"token": _token(store, account, spec, bound, expires), "expirationTimestamp": format_time(expires)},
    }


def _managed(metadata: JsonObject) -> JsonObject:
    return {"managedFields": metadata["managedFields"]} if metadata.get("managedFields") else {}


def _check(spec: JsonObject) -> None:
    errors = Errors()
    seconds = spec["expirationSeconds"]
    if seconds < _LEAST_S:
        errors.invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _MOST_S:
        errors.invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    if errors:
        raise invalid(_GROUP, "TokenRequest", "", errors)


def _bound(store: Store, account: ApiObject, reference: JsonObject | None) -> ApiObject | None:
    """The object to which the token is bound."""
    if reference is None:
        return None
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if _BOUND_TO.get(kind) != reference.get("apiVersion"):
        version = reference.get("apiVersion", "")
        raise bad_request(f"cannot bind token for serviceaccount to an object of {version}, Kind={kind}")
    found = store.find(kind, "" if kind == "Node" else account.metadata.namespace, name)
    if found is None:
        raise not_found(resource_of(kind), name)
    uid = reference.get("uid") or found.metadata.uid
    if uid != found.metadata.uid:
        problem = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        raise conflict(RESOURCES[kind], name, problem + "The object might have been deleted and then recreated")
    return found


def _token(store: Store, account: ApiObject, spec: JsonObject, bound: ApiObject | None, expires: int) -> str:
    about: JsonObject = {
        "namespace": account.metadata.namespace,
        "serviceaccount": {"name": account.metadata.name, "uid": account.metadata.uid},
    }
    if bound is not None:
        about[bound.kind.lower()] = {"name": bound.metadata.name, "uid": bound.metadata.uid}
    claims = {
        "aud": spec["audiences"],
        "exp": expires // SECOND,
        "iat": store.now() // SECOND,
        "iss": _ISSUER,
        "jti": store.new_uid(),
        "kubernetes.io": about,
        "nbf": store.now() // SECOND,
        "sub": f"system:serviceaccount:{account.metadata.namespace}:{account.metadata.name}",
    }
    head = _encoded({"alg": "RS256", "kid": "kubesim"})
    body = _encoded(claims)
    signature = base64.urlsafe_b64encode(hashlib.sha256(f"{head}.{body}".encode()).digest()).decode().rstrip("=")
    return f"{head}.{body}.{signature}"


def _encoded(value: JsonObject) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def user_of_token(store: Store, token: str) -> ApiUser | None:
    """The user of a service account token. None if the token is invalid or expired."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        subject, expires = str(claims["sub"]), int(claims["exp"])
        namespace, name = subject.removeprefix("system:serviceaccount:").split(":")
    except (ValueError, KeyError, TypeError):
        return None
    if expires * SECOND < store.now() or store.find("ServiceAccount", namespace, name) is None:
        return None
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return ApiUser(subject, groups)
