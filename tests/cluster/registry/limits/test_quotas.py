"""ResourceQuotas at admission, with the API server's words."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

NAMESPACE = "/api/v1/namespaces/orc"
QUOTAS = f"{NAMESPACE}/resourcequotas"
MERGE = "application/merge-patch+json"


def with_quota(hard: dict[str, str], used: dict[str, str] | None, **spec: Any) -> Store:
    """A namespace with a quota whose status was written by another client."""
    store = new_store()
    quota = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    assert send(store, "POST", QUOTAS, quota).status == 201
    status = {"hard": hard} | ({} if used is None else {"used": used})
    assert send(store, "PATCH", f"{QUOTAS}/q/status", {"status": status}, MERGE).status == 200
    return store


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def used(store: Store) -> dict[str, str]:
    return dict(body_of(send(store, "GET", f"{QUOTAS}/q"))["status"]["used"])


def problem(store: Store, plural: str, body: dict[str, Any]) -> str:
    answer = send(store, "POST", f"{NAMESPACE}/{plural}", body)
    assert answer.status == 403
    return str(body_of(answer)["message"])


def test_an_admitted_object_is_charged_once() -> None:
    store = with_quota({"pods": "2", "count/pods": "5"}, {"pods": "0", "count/pods": "0"})
    path = f"{NAMESPACE}/pods"
    assert send(store, "POST", f"{path}?dryRun=All", pod()).status == 201
    assert used(store) == {"count/pods": "0", "pods": "0"}
    assert send(store, "POST", path, pod()).status == 201
    assert used(store) == {"count/pods": "1", "pods": "1"}
    assert send(store, "POST", path, pod()).status == 409
    assert used(store) == {"count/pods": "1", "pods": "1"}


def test_an_object_that_exceeds_a_quota_is_rejected() -> None:
    store = with_quota({"pods": "1", "requests.cpu": "1"}, {"pods": "1", "requests.cpu": "500m"})
    resources = {"requests": {"cpu": "600m"}}
    body = pod(containers=[{"name": "c", "image": "i", "resources": resources}])
    assert problem(store, "pods", body) == (
        'pods "p" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=600m, '
        "used: pods=1,requests.cpu=500m, limited: pods=1,requests.cpu=1"
    )


def test_containers_must_name_the_limited_resources() -> None:
    store = with_quota({"requests.cpu": "1", "limits.memory": "1Gi"}, {"requests.cpu": "0", "limits.memory": "0"})
    assert problem(store, "pods", pod()).endswith(
        "failed quota: q: must specify limits.memory for: c; requests.cpu for: c"
    )


def test_nothing_is_admitted_before_the_usage_is_known() -> None:
    store = with_quota({"pods": "1"}, None)
    assert problem(store, "pods", pod()).endswith("status unknown for quota: q, resources: pods")


@pytest.mark.parametrize(
    ("scope", "spec", "counts"),
    [
        ("Terminating", {"activeDeadlineSeconds": 5}, True),
        ("Terminating", {}, False),
        ("NotTerminating", {}, True),
        ("BestEffort", {}, True),
        ("NotBestEffort", {}, False),
        ("PriorityClass", {}, False),
        ("PriorityClass", {"priorityClassName": "system-node-critical"}, True),
    ],
)
def test_a_scope_chooses_pods(scope: str, spec: dict[str, Any], counts: bool) -> None:
    store = with_quota({"pods": "0"}, {"pods": "0"}, scopes=[scope])
    assert (send(store, "POST", f"{NAMESPACE}/pods", pod(**spec)).status == 403) == counts


def test_services_and_other_objects_are_counted() -> None:
    hard = {"services.nodeports": "1", "configmaps": "1", "count/deployments.apps": "0"}
    store = with_quota(hard, dict.fromkeys(hard, "0"))
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}}
    assert problem(store, "services", service).endswith(
        "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1"
    )
    plain = {"metadata": {"name": "s"}, "spec": {"ports": ports[:1]}}
    assert send(store, "POST", f"{NAMESPACE}/services", plain).status == 201
    exposed = {"spec": {"type": "NodePort", "ports": ports}}
    assert send(store, "PATCH", f"{NAMESPACE}/services/s", exposed, MERGE).status == 403
    assert send(store, "PATCH", f"{NAMESPACE}/services/s", {"spec": {"type": "NodePort"}}, MERGE).status == 200
    assert used(store)["services.nodeports"] == "1"
    assert send(store, "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "a"}}).status == 201
    assert "configmaps=1" in problem(store, "configmaps", {"metadata": {"name": "b"}})


def test_an_invalid_quota_is_rejected() -> None:
    hard = {"cpu": "-1", "frob": "1", "pods": "1500m"}
    spec = {"hard": hard, "scopes": ["BestEffort", "NotBestEffort", "Frob"]}
    answer = body_of(send(new_store(), "POST", QUOTAS, {"metadata": {"name": "q"}, "spec": spec}))
    scopes = 'Invalid value: ["BestEffort","NotBestEffort","Frob"]'
    assert [(cause["field"], cause["message"]) for cause in answer["details"]["causes"]] == [
        ("spec.hard[cpu]", 'Invalid value: "-1": must be greater than or equal to 0'),
        ("spec.hard[frob]", 'Invalid value: "frob": must be a standard resource type or fully qualified'),
        ("spec.hard[frob]", 'Invalid value: "frob": must be a standard resource for quota'),
        ("spec.hard[pods]", 'Invalid value: "1500m": must be an integer'),
        ("spec.scopes", f"{scopes}: unsupported scope applied to resource"),
        ("spec.scopes", f"{scopes}: unsupported scope"),
        ("spec.scopes", f"{scopes}: conflicting scopes"),
    ]
    changed = {"spec": {"scopes": ["Terminating"]}}
    store = with_quota({"pods": "1"}, None)
    answer = body_of(send(store, "PATCH", f"{QUOTAS}/q", changed, MERGE))
    assert answer["message"].endswith('spec.scopes: Invalid value: ["Terminating"]: field is immutable')
