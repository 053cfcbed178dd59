"""Server-side apply: ownership of fields, conflicts, and removal."""

from __future__ import annotations

from typing import Any

from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

MAPS = "/api/v1/namespaces/orc/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/orc/deployments"
APPLY = "application/apply-patch+yaml"


def apply(store: Store, manager: str, data: dict[str, str], *, force: bool = False) -> Response:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data}
    forced = "&force=true" if force else ""
    return send(store, "PATCH", f"{MAPS}/m?fieldManager={manager}{forced}", body, APPLY)


def owners(response: Response) -> dict[str, list[str]]:
    fields = {}
    for entry in body_of(response)["metadata"]["managedFields"]:
        fields[entry["manager"]] = sorted(name[2:] for name in entry["fieldsV1"].get("f:data", {}) if name != ".")
    return fields


def test_the_first_apply_creates_the_object() -> None:
    response = apply(new_store(), "a", {"x": "1"})
    assert response.status == 201
    assert owners(response) == {"a": ["x"]}


def test_another_value_is_a_conflict_and_an_equal_one_is_shared() -> None:
    store = new_store()
    apply(store, "a", {"x": "1", "y": "2"})
    refused = apply(store, "b", {"x": "9"})
    assert refused.status == 409
    assert body_of(refused)["message"] == 'Apply failed with 1 conflict: conflict with "a": .data.x'
    assert owners(apply(store, "b", {"x": "1"})) == {"a": ["x", "y"], "b": ["x"]}


def test_force_takes_the_field() -> None:
    store = new_store()
    apply(store, "a", {"x": "1", "y": "2"})
    response = apply(store, "b", {"x": "9"}, force=True)
    assert owners(response) == {"a": ["y"], "b": ["x"]}
    assert body_of(response)["data"] == {"x": "9", "y": "2"}


def test_a_field_owned_only_by_the_applier_is_removed_with_it() -> None:
    store = new_store()
    apply(store, "a", {"x": "1", "y": "2"})
    assert body_of(apply(store, "a", {"y": "2"}))["data"] == {"y": "2"}


def test_a_field_that_another_manager_owns_stays() -> None:
    store = new_store()
    apply(store, "a", {"x": "1", "y": "2"})
    apply(store, "b", {"x": "1"})
    assert body_of(apply(store, "a", {"y": "2"}))["data"] == {"x": "1", "y": "2"}


def test_several_conflicts_are_listed_by_manager() -> None:
    store = new_store()
    apply(store, "a", {"x": "1"})
    apply(store, "b", {"y": "1"})
    body = body_of(apply(store, "c", {"x": "2", "y": "2"}))
    assert body["message"] == (
        'Apply failed with 2 conflicts: conflicts with "a":\n- .data.x\nconflicts with "b":\n- .data.y'
    )
    assert [cause["field"] for cause in body["details"]["causes"]] == [".data.x", ".data.y"]


def test_an_update_takes_fields_from_an_applier() -> None:
    store = new_store()
    apply(store, "a", {"x": "1", "y": "2"})
    send(store, "PATCH", f"{MAPS}/m?fieldManager=u", {"data": {"x": "5"}}, "application/merge-patch+json")
    refused = body_of(apply(store, "a", {"x": "1", "y": "2"}))
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "u" using v1: .data.x'


def test_an_object_without_managers_gets_its_first_one() -> None:
    store = new_store()
    apply(store, "a", {"x": "1"})
    reset: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
    cleared = send(store, "PATCH", f"{MAPS}/m", reset, "application/merge-patch+json")
    assert "managedFields" not in body_of(cleared)["metadata"]
    assert owners(apply(store, "b", {"z": "1"})) == {"before-first-apply": ["x"], "b": ["z"]}


def deployment(image: str, **more: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": image, "ports": [{"containerPort": 80}]}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, **more}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def test_elements_of_a_list_are_merged_by_their_keys() -> None:
    store = new_store()
    send(store, "PATCH", f"{DEPLOYMENTS}/d?fieldManager=a", deployment("i:1"), APPLY)
    other = deployment("i:1")
    other["spec"]["template"]["spec"]["containers"][0] = {
        "name": "c",
        "image": "i:1",
        "env": [{"name": "E", "value": "1"}],
    }
    merged = body_of(send(store, "PATCH", f"{DEPLOYMENTS}/d?fieldManager=b", other, APPLY))
    (container,) = merged["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "E", "value": "1"}]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    refused = body_of(send(store, "PATCH", f"{DEPLOYMENTS}/d?fieldManager=b", other, APPLY))
    assert refused["details"]["causes"][0]["field"] == '.spec.template.spec.containers[name="c"].image'


def test_a_scale_is_owned_by_its_subresource() -> None:
    store = new_store()
    send(store, "PATCH", f"{DEPLOYMENTS}/d?fieldManager=a", deployment("i:1"), APPLY)
    scaled = send(
        store,
        "PATCH",
        f"{DEPLOYMENTS}/d/scale?fieldManager=s",
        {"spec": {"replicas": 3}},
        "application/merge-patch+json",
    )
    assert (body_of(scaled)["kind"], body_of(scaled)["spec"]["replicas"]) == ("Scale", 3)
    entries = body_of(send(store, "GET", f"{DEPLOYMENTS}/d"))["metadata"]["managedFields"]
    assert {"f:spec": {"f:replicas": {}}} in [
        entry["fieldsV1"] for entry in entries if entry.get("subresource") == "scale"
    ]


def test_duplicate_keys_of_a_list_are_rejected() -> None:
    body = deployment("i")
    body["spec"]["template"]["spec"]["containers"] *= 2
    refused = send(new_store(), "PATCH", f"{DEPLOYMENTS}/d?fieldManager=a", body, APPLY)
    assert refused.status == 500
    assert 'duplicate entries for key [name="c"]' in body_of(refused)["message"]


def test_the_user_agent_is_the_default_manager() -> None:
    store = new_store()
    headers = {"content-type": "application/json", "user-agent": "kubectl/v1.36.4 (linux/amd64)"}
    response = handle(store, Request("POST", MAPS, headers, '{"metadata":{"name":"n"},"data":{"k":"v"}}'))
    (entry,) = body_of(response)["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("kubectl", "Update")
