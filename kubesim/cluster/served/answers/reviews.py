"""Reviews: objects that a client posts to ask a question. The server answers and does not store them.

Mirrors: pkg/registry/authorization/*/rest.go; pkg/registry/authentication/*/storage.go
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pods.signed_token import TokenError
from kubesim.cluster.problems import bad_request
from kubesim.cluster.served.access import ApiUser, Attributes, RoleAccess
from kubesim.cluster.served.answers.tokens import user_of_token
from kubesim.cluster.store.store import Store

JsonObject = dict[str, Any]

INVALID = "invalid bearer token"
KINDS = (
    "SelfSubjectReview", "TokenReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview",
    "SubjectAccessReview",
)  # fmt: skip


def answered(
    store: Store, kind: str, review: JsonObject, user: ApiUser, access: RoleAccess | None, now: str
) -> JsonObject:
    """The review with its status filled in."""
    spec = review.get("spec") or {}
    match kind:
        case "SelfSubjectReview":
            metadata = {**(review.get("metadata") or {}), "creationTimestamp": now}
            return {**review, "metadata": metadata, "status": {"userInfo": _info(user)}}
        case "TokenReview":
            return {**review, "status": _token_status(store, spec)}
        case "SelfSubjectRulesReview":
            return {**review, "status": _rules(user, spec.get("namespace", ""), access)}
        case "SelfSubjectAccessReview":
            return {**review, "status": _decision(user, spec, access)}
    asked = ApiUser(spec.get("user", ""), tuple(spec.get("groups") or ()))
    return {**review, "status": _decision(asked, spec, access)}


def _token_status(store: Store, spec: JsonObject) -> JsonObject:
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    try:
        found = user_of_token(store, spec["token"], spec.get("audiences") or ())
    except TokenError as error:
        problem = f"[{INVALID}, {error}]" if str(error) else INVALID  # also that of the server's own token
        return {"error": problem, "user": {}}
    return {"authenticated": True, "user": _info(found.user), "audiences": list(found.audiences)}


def _info(user: ApiUser) -> JsonObject:
    info: JsonObject = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra}
    return info


def _decision(user: ApiUser, spec: JsonObject, access: RoleAccess | None) -> JsonObject:
    if access is None:
        return {"allowed": True}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes") or {}
    if resource is not None:
        names = {
            name: resource.get(name, "") for name in ("verb", "group", "resource", "subresource", "namespace", "name")
        }
        asked = Attributes(**names)
    else:
        asked = Attributes(path.get("verb", ""), path=path.get("path", ""))
    return {"allowed": access.allows(user, asked)}


def _rules(user: ApiUser, namespace: str, access: RoleAccess | None) -> JsonObject:
    rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    if access is not None and "system:masters" not in user.groups:
        rules = list(access.rules(user, namespace))
    about_paths = [rule for rule in rules if rule.get("nonResourceURLs")]
    return {
        "resourceRules": [rule for rule in rules if rule.get("resources")],
        "nonResourceRules": [
            {"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]} for rule in about_paths
        ],
        "incomplete": False,
    }
