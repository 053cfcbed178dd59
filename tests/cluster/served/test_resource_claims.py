"""The kinds of resource.k8s.io/v1 over HTTP: discovery, defaults, field selectors, the status subresource."""

from __future__ import annotations

from tests.support.cluster.devices import DRIVER, claim, device_class, resource_slice
from tests.support.cluster.rest import body_of, new_store, send

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/orc/resourceclaims"
STRATEGIC = "application/strategic-merge-patch+json"
RESULT = {"request": "gpu", "driver": DRIVER, "pool": "n1", "device": "a"}


def test_discovery() -> None:
    found = body_of(send(new_store(), "GET", GROUP))
    assert [(entry["name"], entry["namespaced"]) for entry in found["resources"]] == [
        ("deviceclasses", False),
        ("resourceclaims", True),
        ("resourceclaims/status", True),
        ("resourceclaimtemplates", True),
        ("resourceslices", False),
    ]


def test_the_lifecycle_of_a_claim() -> None:
    store = new_store()
    body = {**claim(), "metadata": {"name": "c"}, "status": {"allocation": {}}}
    body["spec"]["devices"]["requests"] = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    made = send(store, "POST", CLAIMS, body)
    assert made.status == 201
    exactly = body_of(made)["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly == {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    assert body_of(made)["status"] == {}
    status = {
        "allocation": {"devices": {"results": [RESULT]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}],
    }
    written = send(store, "PUT", f"{CLAIMS}/c/status", {**body_of(made), "status": status})
    assert (written.status, body_of(written)["status"]) == (200, status)
    removed = {"status": {"reservedFor": [{"$patch": "delete", "uid": "1"}]}}
    released = send(store, "PATCH", f"{CLAIMS}/c/status", removed, STRATEGIC)
    assert "reservedFor" not in body_of(released)["status"]
    changed = {"spec": {"devices": {"requests": [{"name": "other"}]}}}
    refused = send(store, "PATCH", f"{CLAIMS}/c", changed, "application/merge-patch+json")
    assert refused.status == 422
    assert body_of(refused)["message"].endswith("field is immutable")
    assert [cause["field"] for cause in body_of(refused)["details"]["causes"]] == ["spec"]
    deleted = send(store, "DELETE", f"{CLAIMS}/c")
    assert (deleted.status, body_of(deleted)["kind"]) == (200, "ResourceClaim")


def test_slices_are_selected_by_node_and_driver() -> None:
    store = new_store()
    for node in ("n1", "n2"):
        assert send(store, "POST", f"{GROUP}/resourceslices", resource_slice(node, "a")).status == 201
    selector = f"?fieldSelector=spec.nodeName%3Dn2,spec.driver%3D{DRIVER}"
    found = body_of(send(store, "GET", f"{GROUP}/resourceslices{selector}"))
    assert [item["spec"]["nodeName"] for item in found["items"]] == ["n2"]


def test_a_class_has_a_generation() -> None:
    store = new_store()
    made = body_of(send(store, "POST", f"{GROUP}/deviceclasses", device_class()))
    assert made["metadata"]["generation"] == 1
    patched = send(
        store, "PATCH", f"{GROUP}/deviceclasses/gpu", {"spec": {"selectors": []}}, "application/merge-patch+json"
    )
    assert body_of(patched)["metadata"]["generation"] == 2
