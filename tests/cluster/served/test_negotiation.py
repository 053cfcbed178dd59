"""Forms of an answer: an object as it is, or its metadata alone; in gets, lists and watches."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.store.store import Store
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
def test_of_one_object_its_metadata(store: Store, version: str) -> None:
    body = body_of(ask(store, f"{MAPS}/m", as_("PartialObjectMetadata", version)))
    assert set(body) == {"kind", "apiVersion", "metadata"}
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadata", f"meta.k8s.io/{version}")
    assert body["metadata"]["labels"] == {"a": "b"}


def test_of_a_list_the_metadata_of_its_items(store: Store) -> None:
    body = body_of(ask(store, MAPS, LIST))
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert body["metadata"]["resourceVersion"] == str(store.resource_version)
    assert "VALUE" not in str(body)
    (item,) = [item for item in body["items"] if item["metadata"]["name"] == "m"]
    assert set(item) == {"kind", "apiVersion", "metadata"}


def test_a_list_of_nothing_has_null_for_items(store: Store) -> None:
    assert body_of(ask(store, "/api/v1/namespaces/none/configmaps", LIST))["items"] is None
    assert body_of(ask(store, "/api/v1/namespaces/none/configmaps", "application/json"))["items"] == []


def test_of_a_watch_the_metadata_of_each_object_and_of_bookmarks(store: Store) -> None:
    query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    stream = ask(store, MAPS + query, ITEM).stream
    assert stream is not None
    lines = stream.lines()
    assert {line["type"] for line in lines} == {"ADDED", "BOOKMARK"}
    assert {line["object"]["kind"] for line in lines} == {"PartialObjectMetadata"}
    assert all(set(line["object"]) == {"kind", "apiVersion", "metadata"} for line in lines)


def test_a_watch_cannot_show_an_object_as_a_list(store: Store) -> None:
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
def test_what_cannot_be_had_is_refused(store: Store, path: str, accept: str, message: str) -> None:
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
def test_the_weightiest_form_that_there_is_is_taken(store: Store, accept: str, kind: str) -> None:
    body: dict[str, Any] = body_of(ask(store, MAPS, accept))
    assert body["kind"] == kind


def test_an_object_that_does_not_exist_is_reported_before_its_form(store: Store) -> None:
    assert ask(store, f"{MAPS}/absent", LIST).status == 404
