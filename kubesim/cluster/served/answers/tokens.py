"""Tokens of service accounts: TokenRequest, and the user that a token identifies.

A token is valid while its signature, times, audience, service account and bound object are.

Mirrors: pkg/registry/core/serviceaccount/storage token.go; pkg/serviceaccount claims.go, legacy.go, jwt.go;
apiserver/pkg/authentication/serviceaccount util.go UserInfo
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from hmac import compare_digest
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.signed_token import ISSUER, LEGACY_ISSUER, TokenError, verified
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.api.validation.field import Errors
from kubesim.cluster.problems import bad_request, conflict, invalid, not_found
from kubesim.cluster.served.access import ALL_AUTHENTICATED, ApiUser
from kubesim.cluster.store.kinds import RESOURCES, resource_of
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.golang.text import quoted
from kubesim.values import value_object

JsonObject = dict[str, Any]

_GROUP = "authentication.k8s.io"
_DEFAULT_S, _LEAST_S, _MOST_S = 3600, 600, 1 << 32
_BOUND_TO = {"Pod": "v1", "Secret": "v1", "Node": "v1"}
_LEEWAY = 60 * SECOND  # for the clocks of other machines
_INVALIDATED = "service account token has been invalidated"
_LEGACY, _EXTRA = "kubernetes.io/serviceaccount/", "authentication.kubernetes.io/"


def request_token(store: Store, account: ApiObject, request: JsonObject) -> JsonObject:
    """The TokenRequest with its token filled in."""
    metadata = request.get("metadata") or {}
    if metadata.get("name") and metadata["name"] != account.metadata.name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({account.metadata.name})"
        )
    spec = {"audiences": [], "expirationSeconds": _DEFAULT_S, "boundObjectRef": None} | (request.get("spec") or {})
    spec["expirationSeconds"] = _DEFAULT_S if spec["expirationSeconds"] is None else spec["expirationSeconds"]
    spec["audiences"] = spec["audiences"] or [ISSUER]
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
    if isinstance(found, Pod) and found.spec.service_account_name != account.metadata.name:
        problem = "to pod running with different serviceaccount name."
        raise bad_request(f"cannot bind token for serviceaccount {quoted(account.metadata.name)} {problem}")
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
        about[bound.kind.lower()] = _reference(bound)
    node = store.find("Node", "", bound.spec.node_name) if isinstance(bound, Pod) else None
    if node is not None:
        about["node"] = _reference(node)
    claims = {
        "aud": spec["audiences"],
        "exp": expires // SECOND,
        "iat": store.now() // SECOND,
        "iss": ISSUER,
        "jti": store.new_uid(),
        "kubernetes.io": about,
        "nbf": store.now() // SECOND,
        "sub": f"system:serviceaccount:{account.metadata.namespace}:{account.metadata.name}",
    }
    return store.signed_token(json.dumps(claims, separators=(",", ":")))


def _reference(obj: ApiObject) -> JsonObject:
    return {"name": obj.metadata.name, "uid": obj.metadata.uid}


# -- verification -----------------------------------------------------------------------------------------------------


@value_object
class TokenUser:
    """The user of a valid token, and for which of the wanted audiences it is valid."""

    user: ApiUser
    audiences: tuple[str, ...]


def user_of_token(store: Store, token: str, wanted: Sequence[str] = ()) -> TokenUser:
    """The user of a token for one of these audiences; by default, of the API server. Raises TokenError."""
    claims = verified(token, store.token_key)
    has, wanted = claims.get("aud") or [ISSUER], wanted or (ISSUER,)
    audiences = tuple(each for each in has if each in wanted)
    if not audiences:
        target = _go_list(wanted)
        raise TokenError(f"token audiences {_go_list(has)} is invalid for the target audiences {target}")
    if claims["iss"] == LEGACY_ISSUER:
        return TokenUser(_user_of_secret(store, token, claims), audiences)
    _check_times(claims, store.now())
    return TokenUser(_user_of_claims(store, claims), audiences)


def _go_list(values: Sequence[str]) -> str:
    return f"[{' '.join(map(quoted, values))}]"


def _check_times(claims: JsonObject, now: int) -> None:
    if now + _LEEWAY < claims["nbf"] * SECOND:
        raise TokenError("service account token is not valid yet")
    if now - _LEEWAY > claims["exp"] * SECOND:
        raise TokenError("service account token has expired")


def _user_of_claims(store: Store, claims: JsonObject) -> ApiUser:
    about, before = claims["kubernetes.io"], store.now() - _LEEWAY
    namespace, reference = about["namespace"], about["serviceaccount"]
    account = _account(store, namespace, reference["name"])
    if account.metadata.uid != reference["uid"]:
        raise TokenError(f"service account UID ({account.metadata.uid}) does not match claim ({reference['uid']})")
    if _is_deleted(account, before):
        raise TokenError(f"service account {namespace}/{reference['name']} has been deleted")
    extra: dict[str, tuple[str, ...]] = (
        {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)} if claims.get("jti") else {}
    )
    for kind in _BOUND_TO:
        bound = about.get(kind.lower())
        if bound is None:
            continue
        if kind != "Node" or "pod" not in about:  # the node of a bound pod is information only
            _check_bound(store, kind, "" if kind == "Node" else namespace, bound, before)
        if kind != "Secret":
            extra |= {f"{_EXTRA}{kind.lower()}-{field}": (bound[field],) for field in ("name", "uid")}
    return _user(account, extra)


def _account(store: Store, namespace: str, name: str) -> ApiObject:
    try:
        return store.get("ServiceAccount", namespace, name)
    except ApiError as error:
        raise TokenError(str(error)) from None


def _is_deleted(obj: ApiObject, before: int) -> bool:
    deleted = obj.metadata.deletion_timestamp
    return bool(deleted) and parse_time(deleted) < before


def _check_bound(store: Store, kind: str, namespace: str, reference: JsonObject, before: int) -> None:
    found = store.find(kind, namespace, reference["name"])
    if found is None or (found.metadata.uid == reference["uid"] and _is_deleted(found, before)):
        raise TokenError(_INVALIDATED)
    if found.metadata.uid != reference["uid"]:
        problem = f"does not match service account {kind.lower()} ref claim ({reference['uid']})"
        raise TokenError(f"{kind.lower()} UID ({found.metadata.uid}) {problem}")


def _user_of_secret(store: Store, token: str, claims: JsonObject) -> ApiUser:
    """The user of a token without expiry, which a Secret holds."""
    namespace, secret = claims[f"{_LEGACY}namespace"], claims[f"{_LEGACY}secret.name"]
    found = store.find("Secret", namespace, secret)
    if found is None or found.metadata.deletion_timestamp:
        raise TokenError("Token has been invalidated")
    held = str((found.extra.get("data") or {}).get("token", ""))
    if not compare_digest(held.encode(), base64.b64encode(token.encode())):
        raise TokenError("Token does not match server's copy")
    name, uid = claims[f"{_LEGACY}service-account.name"], claims[f"{_LEGACY}service-account.uid"]
    account = _account(store, namespace, name)
    if account.metadata.deletion_timestamp:
        raise TokenError(f"ServiceAccount {namespace}/{name} has been deleted")
    if account.metadata.uid != uid:
        raise TokenError(f"ServiceAccount UID ({account.metadata.uid}) does not match claim ({uid})")
    return _user(account, {})


def _user(account: ApiObject, extra: dict[str, tuple[str, ...]]) -> ApiUser:
    metadata, prefix = account.metadata, "system:serviceaccounts"
    groups = (prefix, f"{prefix}:{metadata.namespace}", ALL_AUTHENTICATED)
    name = f"system:serviceaccount:{metadata.namespace}:{metadata.name}"
    return ApiUser(name, groups, metadata.uid, tuple(sorted(extra.items())))
