"""Answers for clients that accept only protobuf."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.cluster.served.answers.protobuf import encode_event, encode_object
from kubesim.cluster.served.requests.protobuf import decode_object
from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store
from kubesim.golang.json import dumps
from tests.support.cluster.protobuf import CONFIG_MAP, PRIORITY_CLASS
from tests.support.cluster.rest import body_of, new_store, send
from tests.support.cluster.typed_requests import collection, furnish_with_valid_objects, valid_objects

PROTOBUF = "application/vnd.kubernetes.protobuf"
PODS = "/api/v1/namespaces/orc/pods"


def ask(store: Store, path: str, accept: str = PROTOBUF, method: str = "GET") -> Response:
    return handle(store, Request(method, path, {"accept": accept}))


def plain(value: Any) -> Any:
    """A decoded object without what protobuf cannot tell from unset."""
    if isinstance(value, dict):
        found = {key: plain(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in ({}, [], "", None, False, "0", 0)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


@pytest.mark.parametrize("recorded", [CONFIG_MAP, PRIORITY_CLASS])
def test_objects_are_encoded_as_a_real_client_encodes_them(recorded: str) -> None:
    body = json.loads(dumps(decode_object(bytes.fromhex(recorded))))
    assert encode_object(body).hex() == recorded


def test_each_kind_survives_encoding() -> None:
    store = new_store()
    furnish_with_valid_objects(store)
    for manifest in valid_objects():
        resource = resource_of(manifest["kind"])
        answer = ask(store, f"{collection(resource)}/m")
        assert answer.headers == {"Content-Type": PROTOBUF}
        shown = body_of(send(store, "GET", f"{collection(resource)}/m"))
        assert plain(json.loads(dumps(decode_object(answer.raw)))) == plain(shown), resource.kind


def test_lists_and_errors_are_encoded() -> None:
    store = new_store()
    furnish_with_valid_objects(store)
    listed = ask(store, PODS)
    assert listed.raw.startswith(b"k8s\0")
    assert b"PodList" in listed.raw
    missing = ask(store, f"{PODS}/none")
    assert missing.status == 404
    status = decode_object(missing.raw)
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "NotFound", "404")
    assert status["details"] == {"name": "none", "kind": "pods"}
    only_metadata = ask(store, f"{PODS}/m", f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
    assert decode_object(only_metadata.raw)["metadata"]["name"] == "m"
    table = ask(store, PODS, f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1")
    assert table.status == 406


def test_a_client_that_also_accepts_json_gets_json() -> None:
    store = new_store()
    for accept in (f"{PROTOBUF},application/json", f"{PROTOBUF}, */*"):
        assert body_of(ask(store, PODS, accept))["kind"] == "PodList"


def test_watch_events_are_frames() -> None:
    store = new_store()
    furnish_with_valid_objects(store)
    stream = ask(store, f"{PODS}?watch=1").stream
    assert stream is not None
    assert stream.content_type == f"{PROTOBUF};stream=watch"
    [line] = stream.lines()
    frame = stream.encode(line)
    assert frame == encode_event(line)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:11] == b"\x0a\x05ADDED"
    assert decode_object(frame[frame.index(b"k8s\0") :])["metadata"]["name"] == "m"
    stream.close()


def test_custom_resources_have_no_protobuf() -> None:
    store = new_store()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "shop.example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert send(store, "POST", path, {"metadata": {"name": "widgets.shop.example.com"}, "spec": spec}).status == 201
    refused = ask(store, "/apis/shop.example.com/v1/namespaces/orc/widgets")
    assert refused.status == 406
    assert b"application/json, application/yaml" in refused.raw
