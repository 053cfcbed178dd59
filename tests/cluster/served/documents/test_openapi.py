"""The server's OpenAPI documents: valid references, and the parts that kubectl needs."""

from __future__ import annotations

import json
import re

import pytest

from kubesim.cluster.served.rest import Request, handle
from tests.support.cluster.rest import body_of, new_store, send


@pytest.fixture(scope="module")
def index() -> dict[str, str]:
    text = send(new_store(), "GET", "/openapi/v3").text
    return {path: entry["serverRelativeURL"] for path, entry in json.loads(text)["paths"].items()}


def test_the_index_lists_every_group_and_version(index: dict[str, str]) -> None:
    assert {"api/v1", "apis/apps/v1", "apis/events.k8s.io/v1", "apis/apps", "version"} <= set(index)


@pytest.mark.parametrize(
    "path", ["api/v1", "apis/apps/v1", "apis/batch/v1", "apis/events.k8s.io/v1", "apis/rbac.authorization.k8s.io/v1"]
)
def test_every_reference_leads_to_a_schema(index: dict[str, str], path: str) -> None:
    response = send(new_store(), "GET", index[path])
    assert response.headers["Cache-Control"] == "public, immutable"
    document = body_of(response)
    referenced = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert referenced <= set(document["components"]["schemas"])


def test_a_stale_hash_is_redirected(index: dict[str, str]) -> None:
    response = send(new_store(), "GET", "/openapi/v3/api/v1?hash=OLD")
    assert (response.status, response.headers["Location"]) == (301, index["api/v1"])


def test_an_unchanged_document_is_not_sent_again(index: dict[str, str]) -> None:
    tag = send(new_store(), "GET", index["api/v1"]).headers["Etag"]
    assert handle(new_store(), Request("GET", index["api/v1"], {"if-none-match": tag})).status == 304


def test_writes_accept_field_validation(index: dict[str, str]) -> None:
    """kubectl uses this to find out whether the server validates fields."""
    paths = body_of(send(new_store(), "GET", index["api/v1"]))["paths"]
    patch = paths["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "kind": "Pod", "version": "v1"}


def test_lists_have_their_merge_keys(index: dict[str, str]) -> None:
    schemas = body_of(send(new_store(), "GET", index["api/v1"]))["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}
    assert schemas["io.k8s.api.core.v1.Container"]["required"] == ["name"]
