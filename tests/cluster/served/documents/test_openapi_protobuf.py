"""The OpenAPI v2 document in protobuf. tests/up checks it with real kubectl; these tests check its content."""

from __future__ import annotations

import json

from kubesim.cluster.served.documents.openapi_protobuf import encoded_document
from kubesim.cluster.served.requests.protobuf import _fields
from kubesim.cluster.served.rest import Request, handle
from tests.support.cluster.rest import body_of, new_store

ACCEPT = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def parts(data: object) -> dict[int, list[bytes | int]]:
    """The values of each field number."""
    assert isinstance(data, bytes)
    found: dict[int, list[bytes | int]] = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def test_a_schema() -> None:
    schema = {
        "description": "A widget.",
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "format": "int32", "default": 3},
            "next": {"$ref": "#/definitions/Widget"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "x-kubernetes-preserve-unknown-fields": True,
    }
    document = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "v"},
        "paths": {},
        "definitions": {"Widget": schema},
    }
    [definitions] = parts(encoded_document(document))[9]
    widget = parts(parts(definitions)[1][0])
    assert widget[1] == [b"Widget"]
    found = parts(widget[2][0])
    assert (found[4], found[19]) == ([b"A widget."], [b"size"])
    assert parts(found[22][0])[1] == [b"object"]
    properties = {each[1][0]: parts(each[2][0]) for each in map(parts, parts(found[25][0])[1])}
    assert properties[b"size"][2] == [b"int32"]
    assert parts(properties[b"size"][5][0])[2] == [b"3\n"]
    assert properties[b"next"][1] == [b"#/definitions/Widget"]
    assert parts(parts(properties[b"labels"][21][0])[1][0])[22] == [b"\n\x06string"]
    extension = parts(found[31][0])
    assert (extension[1], parts(extension[2][0])[2]) == ([b"x-kubernetes-preserve-unknown-fields"], [b"true\n"])


def test_the_server_serves_one_document_in_both_forms() -> None:
    store = new_store()
    in_protobuf = handle(store, Request("GET", "/openapi/v2", {"accept": ACCEPT}))
    assert in_protobuf.headers["Content-Type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    document = body_of(handle(store, Request("GET", "/openapi/v2")))
    assert in_protobuf.raw == encoded_document(document)
    assert not {"allOf", "oneOf", "anyOf"} & set(json.dumps(document).split('"'))
    patched = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "dryRun" in [each["name"] for each in patched["parameters"]]
    assert handle(store, Request("GET", "/openapi/v2", {"accept": "text/html"})).status == 406
