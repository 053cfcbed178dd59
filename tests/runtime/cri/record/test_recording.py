"""Recordings of CRI calls: secrets, calls per pod, comparison, and files that are no recordings."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from kubesim.errors import InputError
from kubesim.runtime.cri.record.calls_of_pods import asks_by_pod
from kubesim.runtime.cri.record.comparison import compare_calls
from kubesim.runtime.cri.record.recording import RecordedCall, RecordingWriter, read_recording
from kubesim.runtime.cri.record.redaction import shown
from kubesim.runtime.cri.wire import cri_pb2 as cri
from tests.support.cri_node import container_message, sandbox_message

SECRET = "correct horse"


@pytest.mark.parametrize(
    "message",
    [
        cri.PullImageRequest(auth=cri.AuthConfig(username="u", password=SECRET)),
        cri.PullImageRequest(auth=cri.AuthConfig(auth=SECRET)),
        cri.PullImageRequest(auth=cri.AuthConfig(identity_token=SECRET, registry_token=SECRET)),
        cri.CreateContainerRequest(
            config=container_message("top", envs=[cri.KeyValue(key="PASSWORD", value=SECRET.encode())])
        ),
        cri.CreateContainerRequest(
            config=container_message(annotations={"kubectl.kubernetes.io/last-applied-configuration": SECRET})
        ),
        cri.ExecSyncResponse(stdout=SECRET.encode(), stderr=SECRET.encode()),
        cri.ExecResponse(url=f"http://127.0.0.1:1/exec/{SECRET}"),
        cri.ContainerStatusResponse(info={"info": SECRET}),
        cri.StatusResponse(info={"config": SECRET}),
    ],
)
def test_secrets_are_not_recorded(message: Any) -> None:
    text = json.dumps(shown(message))
    assert "redacted" in text
    assert SECRET not in text


class Recorder:
    """Writes a recording, call by call."""

    def __init__(self) -> None:
        self.file = io.StringIO()
        self.writer = RecordingWriter(self.file, lambda: 0)
        self.writer.header("unix:///a", "unix:///b")

    def call(self, name: str, request: Any, response: Any = None, code: str = "OK") -> None:
        number = self.writer.call(name, shown(request))
        self.writer.returned(number, code, None if response is None else shown(response))

    def pod(self, name: str, uid: str, sandbox: str) -> None:
        config = sandbox_message(name)
        config.metadata.uid = uid
        config.labels["uid"] = uid
        self.call("RunPodSandbox", cri.RunPodSandboxRequest(config=config), answer(pod_sandbox_id=sandbox))

    def calls(self) -> list[RecordedCall]:
        return read_recording(io.StringIO(self.file.getvalue()), "the recording")


def answer(**fields: Any) -> Any:
    return cri.RunPodSandboxResponse(**fields)


def life(recorder: Recorder, uid: str, sandbox: str, container: str, *, script: str = "top") -> None:
    recorder.pod("web", uid, sandbox)
    message = container_message("sh", "-c", script)
    request = cri.CreateContainerRequest(pod_sandbox_id=sandbox, config=message, sandbox_config=sandbox_message())
    recorder.call("CreateContainer", request, cri.CreateContainerResponse(container_id=container))
    recorder.call("StartContainer", cri.StartContainerRequest(container_id=container))
    recorder.call("ContainerStatus", cri.ContainerStatusRequest(container_id=container))
    recorder.call("StopContainer", cri.StopContainerRequest(container_id=container[:8], timeout=30))


def test_ids_and_uids_make_no_difference() -> None:
    one, other = Recorder(), Recorder()
    life(one, "uid-1", "a" * 64, "b" * 64)
    life(other, "uid-2", "c" * 64, "d" * 64)
    left, right = asks_by_pod(one.calls()), asks_by_pod(other.calls())
    assert [ask.text for ask in left["default/web"]] == [
        "RunPodSandbox",
        "CreateContainer main",
        "StartContainer main",
        "StopContainer main",
    ]
    assert compare_calls(left, right, requests=True) == []


def test_a_different_request_is_found_if_it_is_asked_for() -> None:
    one, other = Recorder(), Recorder()
    life(one, "u", "a" * 64, "b" * 64)
    life(other, "u", "a" * 64, "b" * 64, script="sleep 1")
    left, right = asks_by_pod(one.calls()), asks_by_pod(other.calls())
    assert compare_calls(left, right) == []
    (difference,) = compare_calls(left, right, requests=True)
    assert (difference.number, difference.fields) == (2, ("config.command[2]: 'top' | 'sleep 1'",))


def test_errors_and_missing_pods_are_differences() -> None:
    one, other = Recorder(), Recorder()
    one.pod("a", "u", "a" * 64)
    failed = cri.RunPodSandboxRequest(config=sandbox_message("a"))
    other.call("RunPodSandbox", failed, code="Unknown")
    other.pod("b", "u", "b" * 64)
    found = compare_calls(asks_by_pod(one.calls()), asks_by_pod(other.calls()))
    assert [(each.pod, each.left, each.right) for each in found] == [
        ("default/a", "RunPodSandbox", "RunPodSandbox -> Unknown"),
        ("default/b", "no call", "RunPodSandbox"),
    ]


def test_calls_that_overlap_have_no_order() -> None:
    def stops(names: tuple[str, ...]) -> list[RecordedCall]:
        recorder = Recorder()
        recorder.pod("web", "u", "s" * 64)
        for name in ("a", "b"):
            message = container_message("top", name=name)
            request = cri.CreateContainerRequest(pod_sandbox_id="s" * 64, config=message)
            recorder.call("CreateContainer", request, cri.CreateContainerResponse(container_id=name * 64))
        numbers = [
            recorder.writer.call("StopContainer", shown(cri.StopContainerRequest(container_id=name * 64)))
            for name in names
        ]
        for number in numbers:
            recorder.writer.returned(number, "OK")
        return recorder.calls()

    assert compare_calls(asks_by_pod(stops(("a", "b"))), asks_by_pod(stops(("b", "a")))) == []


def test_a_line_that_is_cut_off_at_the_end_is_ignored() -> None:
    recorder = Recorder()
    recorder.pod("web", "u", "s" * 64)
    text = recorder.file.getvalue()
    (call,) = read_recording(io.StringIO(text[:-20]), "r")
    assert (call.method, call.code) == ("RunPodSandbox", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}\n", "not a recording of kubesim cri record"),
        ("hello\n", "r:1"),
        ('{"format": "kubesim.dev/cri-recording/v1", "kind": "header"}\n[]\n', "kind None is unknown"),
        ('{"format": "kubesim.dev/cri-recording/v1", "kind": "header"}\n{"kind": "call"}\n', "call without a valid"),
        (
            '{"format": "kubesim.dev/cri-recording/v1", "kind": "header"}\n{"kind": "return", "call": 7}\n',
            "return without a valid 7",
        ),
    ],
)
def test_a_file_that_is_no_recording_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_recording(io.StringIO(text), "r")


def test_a_container_counts_as_removed_once() -> None:
    """The kubelet's two removals of an init container overlap or not; an earlier one that failed was an attempt."""
    recorder = Recorder()
    life(recorder, "u1", "s1", "c1")
    remove, response = shown(cri.RemoveContainerRequest(container_id="c1")), shown(cri.RemoveContainerResponse())
    failed = recorder.writer.call("RemoveContainer", remove)
    recorder.writer.returned(failed, "Unknown", error="no space left on device")
    first = recorder.writer.call("RemoveContainer", remove)
    second = recorder.writer.call("RemoveContainer", remove)
    recorder.writer.returned(second, "Unknown", error="container is already in removing state")
    recorder.writer.returned(first, "OK", response)
    recorder.call("RemoveContainer", cri.RemoveContainerRequest(container_id="c1"))
    asks = [ask.text for ask in asks_by_pod(recorder.calls())["default/web"] if ask.method == "RemoveContainer"]
    assert asks == ["RemoveContainer main -> Unknown", "RemoveContainer main"]
    every = asks_by_pod(recorder.calls(), all_calls=True)["default/web"]
    assert len([ask for ask in every if ask.method == "RemoveContainer"]) == 4
