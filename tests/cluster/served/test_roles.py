"""Authorization: roles, bindings, and access reviews."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.served.access import ApiUser, RoleAccess, attributes_of, impersonated
from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PODS = "/api/v1/namespaces/orc/pods"
JANE = ApiUser("jane", ("system:authenticated",))


def ask(store: Store, method: str, path: str, user: ApiUser = JANE, body: str = "") -> Response:
    request = Request(method, path, {"content-type": "application/json"}, body, user=user)
    return handle(store, request, RoleAccess(store))


def allow(store: Store, **rule: Any) -> None:
    head = {"metadata": {"name": "reader"}}
    send(store, "POST", f"{RBAC}/namespaces/orc/roles", {**head, "rules": [{"apiGroups": [""], **rule}]})
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    send(store, "POST", f"{RBAC}/namespaces/orc/rolebindings", {**head, "subjects": [subject], "roleRef": role})


def test_a_user_without_a_role_is_forbidden_everything() -> None:
    store = new_store()
    assert ask(store, "GET", PODS).status == 403
    allow(store, resources=["pods"], verbs=["list"])
    assert ask(store, "GET", PODS).status == 200
    assert ask(store, "GET", f"{PODS}?watch=1").status == 403
    assert ask(store, "GET", "/api/v1/pods").status == 403


def test_subresources_and_names_are_checked() -> None:
    store = new_store()
    allow(store, resources=["pods/status"], verbs=["patch"], resourceNames=["web"])
    assert ask(store, "PATCH", f"{PODS}/web/status").status != 403
    assert ask(store, "PATCH", f"{PODS}/other/status").status == 403
    assert ask(store, "PATCH", f"{PODS}/web").status == 403


def test_masters_may_do_everything() -> None:
    assert ask(new_store(), "GET", PODS, ApiUser()).status == 200


def test_an_anonymous_user_may_only_read_health_and_version() -> None:
    store, anonymous = new_store(), ApiUser("system:anonymous", ("system:unauthenticated",))
    for path, status in (("/healthz", 200), ("/version", 200), ("/api", 403), ("/openapi/v3", 403), (PODS, 403)):
        assert ask(store, "GET", path, anonymous).status == status
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert ask(store, "POST", path, anonymous, '{"spec":{}}').status == 403
    assert impersonated(JANE, {"impersonate-user": "system:anonymous"}) == anonymous


def test_a_review_evaluates_the_same_rules() -> None:
    store = new_store()
    allow(store, resources=["pods"], verbs=["list"])
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for verb, allowed in (("list", True), ("delete", False)):
        spec = f'{{"spec":{{"resourceAttributes":{{"verb":"{verb}","resource":"pods","namespace":"orc"}}}}}}'
        assert body_of(ask(store, "POST", path, body=spec))["status"] == {"allowed": allowed}


@pytest.mark.parametrize(
    ("method", "path", "verb", "resource"),
    [
        ("GET", "/api/v1/namespaces/orc", "get", "namespaces"),
        ("GET", "/api/v1/namespaces", "list", "namespaces"),
        ("PUT", "/api/v1/namespaces/orc/finalize", "update", "namespaces"),
        ("DELETE", PODS, "deletecollection", "pods"),
        ("GET", "/apis/apps/v1/namespaces/orc/deployments/d/scale", "get", "deployments"),
        ("GET", "/metrics", "get", ""),
    ],
)
def test_the_attributes_of_a_request(method: str, path: str, verb: str, resource: str) -> None:
    found = attributes_of(method, path, {})
    assert (found.verb, found.resource) == (verb, resource)
