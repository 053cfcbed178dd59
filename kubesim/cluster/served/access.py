"""Authentication and authorization: the user of a request, and role based access control.

Without a `RoleAccess`, every request is allowed, as with `--authorization-mode=AlwaysAllow`.

Mirrors: plugin/pkg/auth/authorizer/rbac rbac.go; apiserver/pkg/endpoints/filters authorization.go, impersonation;
apiserver/pkg/endpoints/request requestinfo.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.values import value_object

JsonObject = dict[str, Any]

ALL_AUTHENTICATED, ALL_UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = "system:anonymous"
_MASTERS = "system:masters"
_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# Allowed without any role: for every user (system:public-info-viewer), and for authenticated ones (system:discovery).
_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_OPEN_PATHS = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *_PUBLIC_PATHS)
_OPEN_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")


@value_object
class ApiUser:
    name: str = "admin"
    groups: tuple[str, ...] = (_MASTERS, ALL_AUTHENTICATED)
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@value_object
class Attributes:
    """The attributes of a request: a resource, or a non-resource path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


def attributes_of(method: str, path: str, query: Mapping[str, Sequence[str]]) -> Attributes:
    parts = [part for part in path.split("/") if part]
    verb = _VERBS.get(method, method.lower())
    if parts[:1] == ["api"] and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return Attributes(verb, path=path)
    namespace = ""
    if rest[0] == "watch":
        verb, rest = "watch", rest[1:]
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    resource, name, subresource = (*rest, "", "", "")[:3]
    if not name and verb in ("get", "delete"):
        watching = "watch" in query and query["watch"][0] not in ("0", "false")
        verb = "deletecollection" if verb == "delete" else "watch" if watching else "list"
    return Attributes(verb, group, resource, subresource, namespace, name)


class RoleAccess:
    """Authorizes requests by the roles and bindings in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allows(self, user: ApiUser, asked: Attributes) -> bool:
        if _MASTERS in user.groups:
            return True
        known = ALL_AUTHENTICATED in user.groups
        if asked.path:
            paths = _OPEN_PATHS if known else _PUBLIC_PATHS
            if asked.verb == "get" and any(_matches(pattern, asked.path) for pattern in paths):
                return True
        elif known and asked.resource in _OPEN_REVIEWS and asked.verb == "create":
            return True
        return any(_rule_allows(rule, asked) for rule in self.rules(user, asked.namespace))

    def rules(self, user: ApiUser, namespace: str) -> Iterator[JsonObject]:
        """The RBAC rules that apply to a user in a namespace."""
        for binding in self._store.list("ClusterRoleBinding"):
            if _binds(binding.extra, user, ""):
                yield from self._role_rules(binding.extra, "")
        for binding in self._store.list("RoleBinding", namespace) if namespace else ():
            if _binds(binding.extra, user, namespace):
                yield from self._role_rules(binding.extra, namespace)

    def _role_rules(self, binding: JsonObject, namespace: str) -> Iterable[JsonObject]:
        reference = binding.get("roleRef") or {}
        kind = reference.get("kind", "")
        found = self._store.find(kind, namespace if kind == "Role" else "", reference.get("name", ""))
        return () if found is None else found.extra.get("rules") or ()


def _binds(binding: JsonObject, user: ApiUser, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "ServiceAccount":
            name = f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
        if (kind in ("User", "ServiceAccount") and name == user.name) or (kind == "Group" and name in user.groups):
            return True
    return False


def _rule_allows(rule: JsonObject, asked: Attributes) -> bool:
    def has(field: str, value: str) -> bool:
        values = rule.get(field) or ()
        return "*" in values or value in values

    if not has("verbs", asked.verb):
        return False
    if asked.path:
        return any(_matches(pattern, asked.path) for pattern in rule.get("nonResourceURLs") or ())
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    named = rule.get("resourceNames")
    wild = asked.subresource and f"*/{asked.subresource}" in (rule.get("resources") or ())
    return (
        has("apiGroups", asked.group)
        and bool(has("resources", resource) or wild)
        and (not named or asked.name in named)
    )


def _matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def refusal(user: ApiUser, asked: Attributes) -> ApiError:
    """The 403 error with the API server's message."""
    who = f'User "{user.name}" cannot {asked.verb}'
    if asked.path:
        return ApiError(403, "Forbidden", f'forbidden: {who} path "{asked.path}"', {})
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    full = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    about = f'{full} "{asked.name}"' if asked.name else full
    message = f'{about} is forbidden: {who} resource "{resource}" in API group "{asked.group}" {where}'
    details = {"name": asked.name, "group": asked.group, "kind": asked.resource}
    return ApiError(403, "Forbidden", message, {key: value for key, value in details.items() if value})


def impersonated(user: ApiUser, headers: Mapping[str, str]) -> ApiUser:
    """The user that a request impersonates, from its Impersonate headers."""
    name = headers.get("impersonate-user")
    if not name:
        return user
    groups = tuple(group for group in headers.get("impersonate-group", "").split(",") if group)
    everyone = ALL_UNAUTHENTICATED if name == ANONYMOUS else ALL_AUTHENTICATED
    return ApiUser(name, (*groups, everyone))
