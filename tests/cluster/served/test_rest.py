"""Requests without a recording: each gets a response in the API's format."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

PODS = "/api/v1/namespaces/orc/pods"
STRATEGIC = "application/strategic-merge-patch+json"
FIELDS = (
    "kind", "apiVersion", "metadata", "name", "labels", "finalizers", "spec", "containers", "image", "resources",
    "requests", "cpu", "tolerations", "schedulingGates", "ephemeralContainers", "status", "phase", "conditions", "type",
    "podIPs", "ip", "containerStatuses", "state", "$patch", "$retainKeys", "$setElementOrder/containers",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "web", "c", "1", "Pod", "delete", "replace"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


def web(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@given(
    st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
    st.sampled_from(["", "/status", "/resize", "/ephemeralcontainers", "/binding", "/eviction"]),
    st.sampled_from(["application/json", "application/merge-patch+json", "application/json-patch+json", STRATEGIC]),
    VALUES,
)
def test_every_request_gets_a_response(method: str, subresource: str, content_type: str, body: Any) -> None:
    store = new_store()
    send(store, "POST", PODS, web())
    path = PODS if method == "POST" and not subresource else f"{PODS}/web{subresource}"
    response = send(store, method, path, body, content_type)
    assert body_of(response).get("code", response.status) == response.status
    assert body_of(response)["kind"] in ("Pod", "PodList", "Status")


def test_only_ephemeral_containers_can_be_added() -> None:
    store = new_store()
    send(store, "POST", PODS, web())
    path = f"{PODS}/web/ephemeralcontainers"
    added = send(store, "PATCH", path, {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}, STRATEGIC)
    assert added.status == 200
    assert body_of(added)["metadata"]["generation"] == 2
    body = body_of(added)
    others = {**body, "metadata": {**body["metadata"], "labels": {"x": "y"}}}
    body = body_of(send(store, "PUT", path, others))
    assert "labels" not in body["metadata"]
    removed = send(store, "PUT", path, {**body, "spec": {**body["spec"], "ephemeralContainers": []}})
    assert removed.status == 422
    assert 'existing ephemeral containers "d" may not be removed' in body_of(removed)["message"]
    changed = {"spec": {"ephemeralContainers": [{"name": "d", "image": "other"}]}}
    refused = send(store, "PATCH", path, changed, STRATEGIC)
    assert body_of(refused)["details"]["causes"][0]["field"] == "spec.ephemeralContainers"


def test_a_collection_is_deleted_by_selection() -> None:
    store = new_store()
    for name, app in (("a", "shop"), ("b", "blog"), ("c", "shop")):
        pod = {"metadata": {"name": name, "labels": {"app": app}}, "spec": web()["spec"]}
        assert send(store, "POST", PODS, pod).status == 201
    answer = body_of(send(store, "DELETE", f"{PODS}?labelSelector=app%3Dshop"))
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "c"]
    assert "deletionTimestamp" not in answer["items"][0]["metadata"], "as they were before"
    assert [pod.metadata.name for pod in store.list("Pod")] == ["b"]


def test_a_watch_that_is_too_old_returns_one_error_line() -> None:
    store = new_store()
    small = Store(store.now, store.new_uid, history_limit=2)
    for n in range(4):
        small.create(store.list("ConfigMap")[0].changed(metadata=store.list("Node")[0].metadata.changed(name=f"c{n}")))
    response = send(small, "GET", "/api/v1/configmaps?watch=1&resourceVersion=1")
    assert response.stream is not None
    (line,) = response.stream.lines()
    assert (line["type"], line["object"]["code"], line["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert response.stream.closed
