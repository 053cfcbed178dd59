"""Forms of a response: a whole object, or its metadata only; in gets, lists and watches."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.store.store import Store
from kubesim.cluster.wire import encoded
from tests.support.cluster.rest import body_of, new_store, send

MAPS = "/api/v1/namespaces/orc/configmaps"
META = "g=meta.k8s.io"


def as_(kind: str, version: str = "v1") -> str:
    return f"application/json;as={kind};{META};v={version}"


ITEM, LIST = as_("PartialObjectMetadata"), as_("PartialObjectMetadataList")


@pytest.fixture
def store() -> Store:
    made = new_store()
    send(made, "POST", MAPS, {"metadata": {"name": "m", "labels": {"a": "b"}}, "data": {"key": "VALUE"}})
    return made


def ask(store: Store, path: str, accept: str) -> Response:
    return handle(store, Request("GET", path, {"accept": accept}))


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_metadata_of_one_object(store: Store, version: str) -> None:
    body = body_of(ask(store, f"{MAPS}/m", as_("PartialObjectMetadata", version)))
    assert set(body) == {"kind", "apiVersion", "metadata"}
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadata", f"meta.k8s.io/{version}")
    assert body["metadata"]["labels"] == {"a": "b"}


def test_metadata_of_list_items(store: Store) -> None:
    body = body_of(ask(store, MAPS, LIST))
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert body["metadata"]["resourceVersion"] == str(store.resource_version)
    assert "VALUE" not in str(body)
    (item,) = [item for item in body["items"] if item["metadata"]["name"] == "m"]
    assert set(item) == {"kind", "apiVersion", "metadata"}


def test_an_empty_list_has_null_items(store: Store) -> None:
    assert body_of(ask(store, "/api/v1/namespaces/none/configmaps", LIST))["items"] is None
    assert body_of(ask(store, "/api/v1/namespaces/none/configmaps", "application/json"))["items"] == []


def test_metadata_of_watched_objects_and_bookmarks(store: Store) -> None:
    query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    stream = ask(store, MAPS + query, ITEM).stream
    assert stream is not None
    lines = stream.lines()
    assert {line["type"] for line in lines} == {"ADDED", "BOOKMARK"}
    assert {line["object"]["kind"] for line in lines} == {"PartialObjectMetadata"}
    assert all(set(line["object"]) == {"kind", "apiVersion", "metadata"} for line in lines)


@pytest.mark.parametrize("accept", ["application/json", ITEM])
def test_all_watches_get_the_same_bytes(store: Store, accept: str) -> None:
    streams = [ask(store, MAPS + "?watch=1", accept).stream for _ in range(3)]
    assert streams[0] is not None
    expected = b"".join(map(encoded, streams[0].lines()))
    assert expected.count(b"\n") == len(store.list("ConfigMap")) > 0
    assert {stream and stream.encoded_lines() for stream in streams[1:]} == {expected}


def test_a_watch_cannot_return_an_object_as_a_list(store: Store) -> None:
    stream = ask(store, MAPS + "?watch=1", LIST).stream
    assert stream is not None
    assert stream.lines() == []
    assert stream.over


@pytest.mark.parametrize(
    ("path", "accept", "message"),
    [
        (MAPS, ITEM, "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"),
        (MAPS, f"{ITEM},application/json", "but the requested object is a list"),
        (f"{MAPS}/m", LIST, "you requested PartialObjectMetadataList, but the requested object is not a list"),
        (
            "/apis/coordination.k8s.io/v1/leases",
            ITEM,
            "the requested object is a list (*coordination.LeaseList)",
        ),
        (MAPS, as_("PartialObjectMetadataList", "v2"), "only the following media types are accepted: application/json"),
        (MAPS, "application/json;as=PartialObjectMetadataList", "only the following media types are accepted"),
    ],
)
def test_unavailable_forms_are_rejected(store: Store, path: str, accept: str, message: str) -> None:
    response = ask(store, path, accept)
    assert (response.status, body_of(response)["reason"]) == (406, "NotAcceptable")
    assert message in body_of(response)["message"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "ConfigMapList"),
        ("*/*", "ConfigMapList"),
        (f"{as_('Table')},{as_('Table', 'v1beta1')},application/json", "Table"),
        (f"text/html, {LIST}", "PartialObjectMetadataList"),
        (f"application/json;q=0.5, {LIST}", "PartialObjectMetadataList"),
        (f"{LIST};q=0.5, application/json", "ConfigMapList"),
        (f"*/*, {LIST}", "PartialObjectMetadataList"),
    ],
)
def test_the_available_form_with_the_highest_weight_is_used(store: Store, accept: str, kind: str) -> None:
    body: dict[str, Any] = body_of(ask(store, MAPS, accept))
    assert body["kind"] == kind


def test_a_missing_object_is_reported_before_an_unavailable_form(store: Store) -> None:
    assert ask(store, f"{MAPS}/absent", LIST).status == 404
