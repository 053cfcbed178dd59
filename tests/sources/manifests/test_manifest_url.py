"""Responses of a url: their pods, no response, and how often a failure is reported."""

from __future__ import annotations

import json
from typing import Any

from kubesim.sources.manifests.manifest_url import FetchError, Reading, UrlAnswer, UrlReader, without_password
from tests.support.sources.manifests import pod, pods

URL = "http://manifests.example/pods"


def ok(body: Any) -> UrlAnswer:
    return UrlAnswer(200, (body if isinstance(body, str) else json.dumps(body)).encode())


def reader() -> UrlReader:
    return UrlReader(URL, "node-1")


def names(reading: Reading) -> list[str] | None:
    return None if reading.pods is None else [pod.metadata.name for pod in reading.pods]


def test_a_single_pod_or_a_list_of_them() -> None:
    assert names(reader().take(ok(pod("a")))) == ["a-node-1"]
    assert names(reader().take(ok(pods("a", "b")))) == ["a-node-1", "b-node-1"]
    assert names(reader().take(ok(pods()))) == []
    assert names(reader().take(ok("kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: []}"))) is None


def test_the_same_text_again_is_ignored() -> None:
    source = reader()
    source.take(ok(pod("a")))
    assert source.is_idle
    assert source.take(ok(pod("a"))) == Reading()
    assert names(source.take(ok(pods("a")))) == ["a-node-1"], "the same pods in another text are looked at"


def test_failures_are_reported_four_times_and_their_end_once() -> None:
    source = reader()
    source.take(ok(pod("a")))
    notes = [source.take(UrlAnswer(503)).note for _ in range(6)]
    failed = f"{URL}: 503 Service Unavailable"
    assert notes == [
        *[f"Failed to read pods from URL: {failed}"] * 3,
        f"Failed to read pods from URL. Dropping verbosity of this message to V(4): {failed}",
        "",
        "",
    ]
    assert source.is_idle
    assert source.take(ok(pod("a"))) == Reading(None, "Successfully read pods from URL")
    assert source.take(ok(pod("a"))) == Reading()
    assert source.take(FetchError("no way")).note == "Failed to read pods from URL: no way"


def test_a_failure_keeps_the_pods_but_an_empty_response_removes_all() -> None:
    source = reader()
    assert source.take(UrlAnswer(404)).pods is None
    assert source.take(FetchError("no way")).pods is None
    empty = source.take(UrlAnswer(200, b""))
    assert empty == Reading((), f"Failed to read pods from URL: zero-length data received from {URL}")


def test_an_invalid_text_is_reported_once_and_then_counts_as_read() -> None:
    source = reader()
    first = source.take(ok(pods("a", "")))
    assert first.pods is None
    assert "name is needed for the pod" in first.note
    assert not source.is_idle
    assert source.take(ok(pods("a", ""))) == Reading(None, "Successfully read pods from URL")
    assert source.is_idle


def test_other_content_is_quoted() -> None:
    note = reader().take(ok("<html>")).note
    assert "received '<html>', but couldn't parse as single (" in note


def test_a_reader_is_idle_only_if_the_same_response_changes_nothing() -> None:
    source = reader()
    for failures in range(6):
        assert source.is_idle == (failures > 3)
        source.take(UrlAnswer(503))
    source.take(ok("neither"))
    assert not source.is_idle, "the same text again would be a success, which is reported"


def test_a_password_is_not_reported() -> None:
    source = UrlReader("http://me:secret@manifests.example/", "node-1")
    for answer in (UrlAnswer(404), UrlAnswer(200, b""), ok("neither")):
        assert "secret" not in source.take(answer).note
    assert without_password("http://me:secret@host:80/a?b") == "http://me:***@host:80/a?b"
    assert without_password(URL) == URL


def test_the_status_line() -> None:
    assert UrlAnswer(404).status_line == "404 Not Found"
    assert UrlAnswer(599).status_line == "599"
    assert UrlAnswer(404, reason="Nope").status_line == "404 Nope"
