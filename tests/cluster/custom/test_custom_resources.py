"""Custom resources: definitions, and objects that are pruned, defaulted, validated and listed as a Table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.cluster.served.rest import Request, handle
from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/shop.example.com/v1/namespaces/orc/widgets"
MERGE = "application/merge-patch+json"


def definition(**version: Any) -> dict[str, Any]:
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 10},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "parts": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    one = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        **version,
    }
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {"group": "shop.example.com", "names": names, "scope": "Namespaced", "versions": [one]},
    }


def widget(name: str = "w", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def store() -> Store:
    made = new_store()
    assert send(made, "POST", CRDS, definition()).status == 201
    return made


def test_a_definition_becomes_established(store: Store) -> None:
    body = body_of(send(store, "GET", f"{CRDS}/widgets.shop.example.com"))
    assert [(each["type"], each["status"]) for each in body["status"]["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    assert body["spec"]["names"]["singular"] == "widget"


def test_discovery_and_openapi_include_it(store: Store) -> None:
    resources = body_of(send(store, "GET", "/apis/shop.example.com/v1"))["resources"]
    assert [each["name"] for each in resources] == ["widgets", "widgets/status"]
    document = body_of(send(store, "GET", "/openapi/v3/apis/shop.example.com/v1"))
    schema = document["components"]["schemas"]["com.example.shop.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["size"]["type"] == "integer"


def test_defaults_are_set_and_unknown_fields_pruned(store: Store) -> None:
    response = send(store, "POST", WIDGETS, widget(size=3, frob=1, free={"any": {"thing": 1}}))
    assert response.status == 201
    assert response.warnings == ('299 - "unknown field \\"spec.frob\\""',)
    body = body_of(response)
    assert body["spec"] == {"size": 3, "color": "red", "free": {"any": {"thing": 1}}}
    assert (body["kind"], body["apiVersion"], body["metadata"]["generation"]) == ("Widget", "shop.example.com/v1", 1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "spec.size: Required value"),
        ({"size": "x"}, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"size": 1, "color": "green"}, 'spec.color: Unsupported value: "green": supported values: "red", "blue"'),
    ],
)
def test_values_are_validated(store: Store, spec: dict[str, Any], message: str) -> None:
    response = send(store, "POST", WIDGETS, widget(**spec))
    assert response.status == 422
    assert body_of(response)["message"] == f'Widget.shop.example.com "w" is invalid: {message}'


def test_the_status_is_written_separately(store: Store) -> None:
    send(store, "POST", WIDGETS, {**widget(size=1), "status": {"ready": True}})
    assert "status" not in body_of(send(store, "GET", f"{WIDGETS}/w"))
    patched = send(store, "PATCH", f"{WIDGETS}/w/status", {"status": {"ready": True}, "spec": {"size": 9}}, MERGE)
    assert (body_of(patched)["status"], body_of(patched)["spec"]["size"]) == ({"ready": True}, 1)
    changed = body_of(send(store, "PATCH", f"{WIDGETS}/w", {"spec": {"size": 2}, "status": {"ready": False}}, MERGE))
    assert (changed["status"], changed["metadata"]["generation"]) == ({"ready": True}, 2)


def test_columns_come_from_the_definition(store: Store) -> None:
    send(store, "POST", WIDGETS, widget(size=4))
    from kubesim.cluster.served.rest import Request, handle

    table = body_of(handle(store, Request("GET", WIDGETS, {"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})))
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["w", 4]


def test_lists_are_merged_by_the_keys_in_the_schema(store: Store) -> None:
    path = f"{WIDGETS}/w?fieldManager="
    apply = "application/apply-patch+yaml"
    send(store, "PATCH", path + "a", widget(size=1, parts=[{"name": "x", "count": 1}]), apply)
    merged = body_of(send(store, "PATCH", path + "b", widget(size=1, parts=[{"name": "y", "count": 2}]), apply))
    assert [part["name"] for part in merged["spec"]["parts"]] == ["x", "y"]


def test_watch_and_delete(store: Store) -> None:
    stream = send(store, "GET", f"{WIDGETS}?watch=1").stream
    assert stream is not None
    send(store, "POST", WIDGETS, widget(size=1))
    assert body_of(send(store, "DELETE", f"{WIDGETS}/w"))["status"] == "Success"
    lines = stream.lines()
    assert [(line["type"], line["object"]["kind"]) for line in lines] == [("ADDED", "Widget"), ("DELETED", "Widget")]


def test_a_definition_without_a_schema_is_rejected() -> None:
    body = definition(schema=None)
    body["metadata"]["name"] = "other.shop.example.com"
    response = send(new_store(), "POST", CRDS, body)
    assert response.status == 422
    fields = [cause["field"] for cause in body_of(response)["details"]["causes"]]
    assert fields == ["metadata.name", "spec.versions[0].schema.openAPIV3Schema"]


def test_cel_rules_are_stored_but_not_evaluated() -> None:
    body = definition()
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [{"rule": "self.size > 5"}]
    store = new_store()
    response = send(store, "POST", CRDS, body)
    assert "does not evaluate them" in response.warnings[0]
    assert send(store, "POST", WIDGETS, widget(size=1)).status == 201


def test_a_deleted_definition_is_no_longer_served(store: Store) -> None:
    send(store, "DELETE", f"{CRDS}/widgets.shop.example.com")
    assert send(store, "GET", WIDGETS).status == 404


def test_custom_resources_have_no_protobuf(store: Store) -> None:
    headers = {"content-type": "application/vnd.kubernetes.protobuf"}
    answer = handle(store, Request("POST", WIDGETS, headers, raw=b"k8s\0"))
    known = "application/json, application/yaml"
    problem = f"the body of the request was in an unknown format - accepted media types include: {known}"
    assert (answer.status, body_of(answer)["message"]) == (415, problem)


def problems(**changes: Any) -> list[str]:
    """The errors about a definition with these changes."""
    body = definition()
    body["spec"] |= changes
    answer = send(new_store(), "POST", CRDS, body)
    assert answer.status == 422, answer.body
    return [f"{cause['field']}: {cause['message']}" for cause in body_of(answer)["details"]["causes"]]


def test_a_schema_must_be_structural() -> None:
    parts = {
        "untyped": {},
        "list": {"type": "array"},
        "items": {"type": "array", "items": {}},
        "both": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        "below": {"type": "object", "allOf": [{"type": "object"}, {"properties": {"a": {"default": 1}}}]},
        "free": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "unique": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    }
    version = definition()["spec"]["versions"][0]
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": parts}}
    where = "spec.validation.openAPIV3Schema.properties"
    quadratic = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
    assert problems(versions=[version]) == [
        f"{where}[below].allOf[0].type: Forbidden: must be empty to be structural",
        f"{where}[below].allOf[1].properties[a].default: Forbidden: must be undefined to be structural",
        f"{where}[items].items.type: Required value: must not be empty for specified array items",
        f"{where}[list].items: Required value: must be specified",
        f"{where}[untyped].type: Required value: must not be empty for specified object fields",
        f"{where}[both].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        f"{where}[unique].uniqueItems: Forbidden: {quadratic}",
    ]


def test_names_and_versions_of_a_definition_are_checked() -> None:
    label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"
    names = {"plural": "widgets", "kind": "Wid get", "shortNames": ["W"], "listKind": "Wid get"}
    found = problems(names=names)
    assert found[0].startswith(f'spec.names.singular: Invalid value: "wid get": {label}')
    assert found[1].startswith(
        f'spec.names.kind: Invalid value: "Wid get": may have mixed case, but should otherwise match: {label}'
    )
    assert found[3].startswith(f'spec.names.shortNames[0]: Invalid value: "W": {label}')
    assert found[4] == 'spec.names.listKind: Invalid value: "Wid get": kind and listKind may not be the same'
    version = definition()["spec"]["versions"][0]
    shown = (
        '{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,'
        '"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}'
    )
    assert problems(versions=[version, version]) == [
        f"spec.versions: Invalid value: [{shown},{shown}]: must contain unique version names",
        f"spec.versions: Invalid value: [{shown},{shown}]: must have exactly one version marked as storage version",
    ]
    assert problems(versions=[{**version, "schema": None}]) == [
        "spec.versions[0].schema.openAPIV3Schema: Required value"
    ]


def test_the_scope_of_a_definition_is_immutable(store: Store) -> None:
    refused = send(store, "PATCH", f"{CRDS}/widgets.shop.example.com", {"spec": {"scope": "Cluster"}}, MERGE)
    assert body_of(refused)["message"].endswith('spec.scope: Invalid value: "Cluster": field is immutable')


def test_a_custom_object_names_its_kind_and_version(store: Store) -> None:
    body = {"metadata": {"name": "w"}}
    unrecognized = "the object provided is unrecognized (must be of type Widget)"
    data = "the API version in the data (shop.example.com/v2)"
    for missing, status, message in (
        (
            body,
            400,
            f"{unrecognized}: Object 'Kind' is missing in '{json.dumps(body)}' ({json.dumps(body)})",
        ),
        (
            {**body, "kind": "Widget", "apiVersion": "shop.example.com/v2"},
            400,
            f"{data} does not match the expected API version (shop.example.com/v1)",
        ),
        (
            {**body, "kind": "Gadget", "apiVersion": "shop.example.com/v1"},
            422,
            'Gadget.shop.example.com "w" is invalid: kind: Invalid value: "Gadget": must be Widget',
        ),
    ):
        answer = send(store, "POST", WIDGETS, missing)
        assert (answer.status, body_of(answer)["message"]) == (status, message)
    strategic = send(store, "PATCH", f"{WIDGETS}/w", {}, "application/strategic-merge-patch+json")
    assert strategic.status == 415
    assert body_of(strategic)["message"].endswith(
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_a_custom_object_can_have_a_scale() -> None:
    store = new_store()
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}
    body = definition(subresources={"status": {}, "scale": paths})
    assert send(store, "POST", CRDS, body).status == 201
    assert send(store, "POST", WIDGETS, widget(size=3)).status == 201
    assert body_of(send(store, "GET", f"{WIDGETS}/w/scale"))["spec"] == {"replicas": 3}
    scaled = send(store, "PATCH", f"{WIDGETS}/w/scale", {"spec": {"replicas": 5}}, MERGE)
    assert (scaled.status, body_of(scaled)["spec"]) == (200, {"replicas": 5})
    assert body_of(send(store, "GET", f"{WIDGETS}/w"))["spec"]["size"] == 5
    assert send(store, "PATCH", f"{WIDGETS}/w/scale", {"spec": {"replicas": 11}}, MERGE).status == 422
