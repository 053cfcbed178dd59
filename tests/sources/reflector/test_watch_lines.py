"""Bytes to events: with any chunks and any content."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.api.pod import Pod
from kubesim.cluster.remote.answers import Undecodable
from kubesim.errors import ApiError
from kubesim.sources.reflector import watch_lines
from kubesim.sources.reflector.watch_lines import Bookmark, Change, LineSplitter, WatchDecoder, refusal

DECODER: WatchDecoder[Pod] = WatchDecoder(Pod, "Pod")
POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7", "managedFields": [{}]},
    "spec": {"containers": [{"name": "c", "image": "i"}], "future": {"a": [1]}},
    "status": {"conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}]},
}


def line(type: str, object: Any) -> bytes:
    return json.dumps({"type": type, "object": object}).encode()


@given(st.lists(st.binary(min_size=1).map(lambda text: text.replace(b"\n", b".")), max_size=6), st.data())
def test_lines_are_the_same_with_any_chunks(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(item + b"\n" for item in lines)
    splitter, found = LineSplitter(), []
    while text:
        size = data.draw(st.integers(1, len(text)))
        found += splitter.feed(text[:size])
        text = text[size:]
    assert found == [item for item in lines if not item.isspace()]
    assert splitter.rest() == b""


def test_an_incomplete_line_is_kept() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.rest() == b"tw"


def test_an_endless_line_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_lines, "MAX_LINE", 10)
    splitter = LineSplitter()
    splitter.feed(b"x" * 10)
    with pytest.raises(Undecodable, match="a line of more than 10 bytes"):
        splitter.feed(b"x")


@pytest.mark.parametrize("type", ["ADDED", "MODIFIED", "DELETED"])
def test_a_change_keeps_everything_except_its_writer(type: str) -> None:
    event = DECODER.event(line(type, POD))
    assert isinstance(event, Change)
    assert event.type == type
    metadata = {key: value for key, value in POD["metadata"].items() if key != "managedFields"}
    assert event.object.to_json() == {**POD, "metadata": metadata}


TEXTS = st.sampled_from(["", "a", ',"spec":{', ',"status":{', '"', "\\", "}}"])
SPECS = st.fixed_dictionaries(
    {"containers": st.lists(st.fixed_dictionaries({"name": TEXTS, "image": TEXTS}), max_size=2)},
    optional={
        "nodeName": TEXTS,
        "volumes": st.just([{"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": {"a": 1}}}}]),
        "future": st.just({"x": 1, "status": {"spec": {}}}),
    },
)
STATUSES = st.fixed_dictionaries(
    {}, optional={"podIP": TEXTS, "message": TEXTS, "future": st.just({"x": 1, "status": {"y": 2}}), "phase": TEXTS}
)
METADATA = st.fixed_dictionaries(
    {"name": st.sampled_from("ab"), "uid": st.sampled_from("uv"), "resourceVersion": st.just("1")},
    optional={"annotations": st.dictionaries(TEXTS, TEXTS, max_size=2), "future": st.just({"n": "", "spec": {"z": 3}})},
)


@given(st.lists(st.tuples(st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), METADATA, SPECS, STATUSES), max_size=6))
def test_changes_are_decoded_in_order(events: list[tuple[str, Any, Any, Any]]) -> None:
    decoder: WatchDecoder[Pod] = WatchDecoder(Pod, "Pod")
    for type, metadata, spec, status in events:
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}
        text = json.dumps({"type": type, "object": pod}, separators=(",", ":")).encode()
        event = decoder.event(text)
        assert isinstance(event, Change)
        assert event.object == Pod.from_json(pod)
        assert event.object.to_json() == Pod.from_json(pod).to_json()


def test_gos_null_is_an_absent_field() -> None:
    event = DECODER.event(line("ADDED", {**POD, "spec": {"containers": None}}))
    assert isinstance(event, Change)
    assert event.object.spec.containers == ()


def test_the_order_of_fields_is_irrelevant() -> None:
    event = DECODER.event(json.dumps({"object": POD, "type": "ADDED"}).encode())
    assert isinstance(event, Change)


def test_bookmarks() -> None:
    object = {"kind": "Pod", "metadata": {"resourceVersion": "9"}, "spec": {"containers": None}}
    assert DECODER.event(line("BOOKMARK", object)) == Bookmark("9", False)
    object["metadata"] = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    assert DECODER.event(line("BOOKMARK", object)) == Bookmark("9", True)


def test_an_error_event_is_raised() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (558)"}
    with pytest.raises(ApiError, match="too old resource version") as raised:
        DECODER.event(line("ERROR", status))
    assert (raised.value.code, raised.value.reason) == (410, "Expired")


@pytest.mark.parametrize(
    "text",
    [
        b"<html>",
        b"[1]",
        b"{}",
        b'{"type":"ADDED"}',
        line("ADDED", None),
        line("ADDED", {"kind": "Status", "status": "Failure"}),
        line("ADDED", {**POD, "kind": "Node"}),
        line("ADDED", {**POD, "metadata": {"name": "web"}}),
        line("ADDED", {**POD, "spec": {"containers": 7}}),
        line("RENAMED", POD),
        line("BOOKMARK", None),
        line("ADDED", POD)[:-5],
    ],
)
def test_other_values_are_not_events(text: bytes) -> None:
    with pytest.raises(Undecodable):
        DECODER.event(text)


def test_a_list_omits_unreadable_items_and_names_them() -> None:
    item = {key: value for key, value in POD.items() if key not in ("kind", "apiVersion")}
    bad = {"metadata": {"name": "bad", "namespace": "ns", "resourceVersion": "1"}, "spec": {"containers": 7}}
    body = {"kind": "PodList", "metadata": {"resourceVersion": "8", "continue": "t"}, "items": [item, bad, None]}
    page = DECODER.page(json.dumps(body).encode())
    assert [(pod.kind, pod.metadata.name) for pod in page.objects] == [("Pod", "web")]
    assert (page.version, page.token, page.unreadable) == ("8", "t", ["ns/bad", "/?"])
    empty = DECODER.page(b'{"kind":"PodList","metadata":{"resourceVersion":"8"},"items":null}')
    assert (empty.objects, empty.token) == ([], "")


@pytest.mark.parametrize(
    "body", [b"", b"null", b'{"items":[]}', b'{"metadata":[],"items":[]}', b'{"metadata":{"resour']
)
def test_an_invalid_list(body: bytes) -> None:
    with pytest.raises(Undecodable):
        DECODER.page(body)


def test_a_rejection_has_its_own_message() -> None:
    status = {"kind": "Status", "reason": "Forbidden", "message": "pods is forbidden", "details": {"kind": "pods"}}
    error = refusal(403, json.dumps(status).encode())
    assert (error.code, error.reason, error.message) == (403, "Forbidden", "pods is forbidden")
    assert refusal(502, b"<h1>Bad\nGateway</h1>").message == "the server answered 502: <h1>Bad Gateway</h1>"


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("metadata", {"name": ["web"], "resourceVersion": "7"}, "cannot unmarshal array into Go struct field"),
        ("metadata", {"name": "web", "resourceVersion": {}}, "cannot unmarshal object into Go struct field"),
        ("metadata", {"name": "web", "resourceVersion": "7", "creationTimestamp": "soon"}, 'parsing time "soon"'),
        ("metadata", {"name": "web", "resourceVersion": "7", "labels": {"a": 1}}, "cannot unmarshal number"),
        ("status", {"containerStatuses": [{"name": "c", "restartCount": 1 << 40}]}, "cannot unmarshal number"),
        ("spec", {"containers": [{"name": "c", "resources": {"limits": {"cpu": "lots"}}}]}, "quantities must match"),
    ],
)
def test_scalars_from_a_server_are_checked(field: str, value: Any, problem: str) -> None:
    with pytest.raises(Undecodable, match=problem):
        DECODER.event(line("ADDED", {**POD, field: value}))
