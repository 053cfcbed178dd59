"""Rules of updates that depend on the kind: who may create by PUT, name no version, or write metadata with a status."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cluster.rest import body_of, new_store, send

NAMESPACE = "/api/v1/namespaces/orc"
DEPLOYMENTS = "/apis/apps/v1/namespaces/orc/deployments"
BUDGETS = "/apis/policy/v1/namespaces/orc/poddisruptionbudgets"
MERGE = "application/merge-patch+json"
LABELS = {"matchLabels": {"a": "b"}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (f"{NAMESPACE}/services/m", {"spec": {"ports": [{"port": 80}]}}, 201),
        (f"{NAMESPACE}/limitranges/m", {"spec": {"limits": []}}, 201),
        (f"{NAMESPACE}/endpoints/m", {}, 201),
        ("/apis/node.k8s.io/v1/runtimeclasses/m", {"handler": "h"}, 201),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles/m", {"rules": []}, 201),
        (f"{NAMESPACE}/configmaps/m", {}, 404),
        (f"{BUDGETS}/m", {}, 404),
    ],
)
def test_some_kinds_can_be_created_by_put(path: str, body: dict[str, Any], status: int) -> None:
    assert send(new_store(), "PUT", path, {"metadata": {"name": "m"}, **body}).status == status


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (BUDGETS, {"spec": {"minAvailable": 1}}),
        ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "h"}),
        ("/apis/storage.k8s.io/v1/csinodes", {"spec": {"drivers": []}}),
    ],
)
def test_some_kinds_are_replaced_only_by_version(path: str, body: dict[str, Any]) -> None:
    store, named = new_store(), {"metadata": {"name": "m"}, **body}
    made = body_of(send(store, "POST", path, named))
    refused = send(store, "PUT", f"{path}/m", named)
    assert refused.status == 422
    assert body_of(refused)["message"].endswith(
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )
    assert send(store, "PUT", f"{path}/m", made).status == 200


def test_a_deletion_returns_the_object_or_a_status() -> None:
    store = new_store()
    for path, body, kind in (
        (f"{NAMESPACE}/services", {"spec": {"ports": [{"port": 80}]}}, "Service"),
        (f"{NAMESPACE}/resourcequotas", {}, "ResourceQuota"),
        ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "p"}, "StorageClass"),
        (f"{NAMESPACE}/configmaps", {}, "Status"),
        (BUDGETS, {}, "Status"),
    ):
        assert send(store, "POST", path, {"metadata": {"name": "m"}, **body}).status == 201
        assert body_of(send(store, "DELETE", f"{path}/m"))["kind"] == kind


def test_a_write_of_the_status_keeps_managed_fields_and_labels() -> None:
    store = new_store()
    spec = {"selector": LABELS, "template": TEMPLATE}
    body = {"metadata": {"name": "m", "labels": {"old": "x"}}, "spec": spec}
    before = body_of(send(store, "POST", DEPLOYMENTS, body))
    status = {"metadata": {"labels": {"new": "y"}, "annotations": {"note": "z"}}, "status": {"replicas": 1}}
    after = body_of(send(store, "PATCH", f"{DEPLOYMENTS}/m/status", status, MERGE))
    assert after["metadata"]["labels"] == {"old": "x"}
    assert after["metadata"]["annotations"] == {"note": "z"}
    assert before["metadata"]["managedFields"][0] in after["metadata"]["managedFields"]
    assert [entry.get("subresource") for entry in after["metadata"]["managedFields"]] == [None, "status"]


def test_owners_and_finalizers_are_checked_in_updates() -> None:
    store, path = new_store(), f"{NAMESPACE}/configmaps"
    assert send(store, "POST", path, {"metadata": {"name": "m"}}).status == 201
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]
    refused = send(store, "PATCH", f"{path}/m", {"metadata": {"ownerReferences": owners, "finalizers": ["x"]}}, MERGE)
    message = body_of(refused)["message"]
    assert 'metadata.ownerReferences.uid: Invalid value: "": must not be empty' in message
    assert "name is neither a standard finalizer name nor is it fully qualified" in message


def test_the_body_of_a_subresource_has_its_kind() -> None:
    store = new_store()
    spec = {"selector": LABELS, "template": TEMPLATE}
    assert send(store, "POST", DEPLOYMENTS, {"metadata": {"name": "m"}, "spec": spec}).status == 201
    refused = send(store, "PUT", f"{DEPLOYMENTS}/m/scale", {"kind": "Foo", "metadata": {"name": "m"}})
    assert refused.status == 400
    assert body_of(refused)["message"].startswith('Foo in version "v1" cannot be handled as a Scale: no kind "Foo"')


def test_the_scheduling_of_a_runtime_class_is_checked() -> None:
    scheduling = {"nodeSelector": {"a b": "c"}, "tolerations": [{"effect": "Foo", "operator": "Exists"}]}
    body = {"metadata": {"name": "m"}, "handler": "h", "scheduling": scheduling}
    answer = body_of(send(new_store(), "POST", "/apis/node.k8s.io/v1/runtimeclasses", body))
    fields = [cause["field"] for cause in answer["details"]["causes"]]
    assert fields == ["scheduling.nodeSelector", "scheduling.tolerations[0].effect"]


def test_kinds_that_can_only_be_created_or_read() -> None:
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert send(new_store(), "GET", reviews).status == 405
    assert send(new_store(), "GET", f"{reviews}/m").status == 404
    assert send(new_store(), "POST", "/api/v1/componentstatuses", {"metadata": {"name": "m"}}).status == 405
    assert send(new_store(), "GET", "/api/v1/componentstatuses").status == 200


def test_a_time_before_all_others_is_none() -> None:
    body = {"metadata": {"name": "m", "managedFields": []}, "firstTimestamp": "0001-01-01T00:00:00Z"}
    body |= {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "orc"}}
    assert body_of(send(new_store(), "POST", f"{NAMESPACE}/events", body))["firstTimestamp"] is None
