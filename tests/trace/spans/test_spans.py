"""Spans: names, parents, ids and errors, in the JSON encoding of OTLP."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.clock.clock import VIRTUAL_START
from kubesim.errors import UsageError
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import MemorySink
from kubesim.trace import records as r
from kubesim.trace.klog.redact import REDACTED, Redaction
from kubesim.trace.spans.export import encoded, parse_collector
from kubesim.trace.spans.otlp import Request
from kubesim.trace.spans.sink import BATCH, SpanSink, is_sampled
from tests.support.played import pod

SCENARIOS = Path(__file__).parents[3] / "scenarios"
REQUIRED = {"traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"}


def spans_of(scenario: Scenario, identity: str = "s 0", rate: int | None = None) -> list[Request]:
    requests: list[Request] = []
    sink = SpanSink(requests.append, identity, VIRTUAL_START, sampling_rate_per_million=rate)
    run_scenario(scenario, sinks=(sink,))
    sink.flush()
    return requests


def shipped(name: str) -> Scenario:
    return load_scenario(str(SCENARIOS / f"{name}.yaml"))


def flat(requests: list[Request]) -> list[dict[str, Any]]:
    """All spans, with their attributes as a mapping."""
    return [
        {**span, "attributes": attributes(span["attributes"])}
        for request in requests
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes(items: list[dict[str, Any]]) -> dict[str, str]:
    return {item["key"]: item["value"]["stringValue"] for item in items}


def test_the_json_has_the_otlp_encoding() -> None:
    requests = spans_of(shipped("kubelet-restart"))
    for request in [json.loads(encoded(request)) for request in requests]:
        assert request.keys() == {"resourceSpans"}
        for resource in request["resourceSpans"]:
            node = {"service.name": "kubelet", "host.name": "node-1", "k8s.node.name": "node-1"}
            assert attributes(resource["resource"]["attributes"]) == node
            for span in [span for scope in resource["scopeSpans"] for span in scope["spans"]]:
                assert REQUIRED <= span.keys() <= REQUIRED | {"parentSpanId", "events"}
                assert re.fullmatch("[0-9a-f]{32}", span["traceId"])
                assert re.fullmatch("[0-9a-f]{16}", span["spanId"])
                assert re.fullmatch("[0-9a-f]{16}", span.get("parentSpanId", "0" * 16))
                assert span["kind"] in (1, 3)
                assert re.fullmatch(r"\d{18}", span["startTimeUnixNano"])
                assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
                assert span["status"] == {} or span["status"]["code"] == 2


def test_a_pods_syncs_and_the_calls_in_them() -> None:
    memory = MemorySink()
    requests: list[Request] = []
    sink = SpanSink(requests.append, "s 0", VIRTUAL_START)
    run_scenario(shipped("graceful-delete"), sinks=(memory, sink))
    sink.flush()
    spans = flat(requests)
    names = Counter(span["name"] for span in spans)
    begun = Counter(record.sync for record in memory.records if isinstance(record, r.SyncBegin))
    assert names["syncPod"] == begun["SyncPod"]
    assert names["syncTerminatingPod"] == begun["SyncTerminatingPod"] == 3
    assert names["syncTerminatedPod"] == begun["SyncTerminatedPod"] == 3
    by_id = {span["spanId"]: span for span in spans}
    assert len(by_id) == len(spans)
    parents = {
        (span["name"].rpartition("/")[2], by_id[span["parentSpanId"]]["name"])
        for span in spans
        if "parentSpanId" in span
    }
    assert ("RunPodSandbox", "syncPod") in parents
    assert ("StopContainer", "syncTerminatingPod") in parents
    assert all(span["traceId"] == by_id[span.get("parentSpanId", span["spanId"])]["traceId"] for span in spans)
    assert len({span["traceId"] for span in spans}) == sum("parentSpanId" not in span for span in spans)


def test_attributes_are_those_of_the_kubelet() -> None:
    spans = flat(spans_of(shipped("hello-pod")))
    first = next(span for span in spans if span["name"] == "syncPod")
    assert first["kind"] == 1
    assert first["attributes"].pop("k8s.pod.uid")
    assert first["attributes"] == {
        "k8s.pod": "default/hello",
        "k8s.pod.name": "hello",
        "k8s.pod.update_type": "create",
        "k8s.namespace.name": "default",
    }
    pull = next(span for span in spans if span["name"] == "runtime.v1.ImageService/PullImage")
    assert pull["kind"] == 3
    assert int(pull["endTimeUnixNano"]) - int(pull["startTimeUnixNano"]) == 2_000_000_000
    assert pull["attributes"] == {
        "rpc.method": "runtime.v1.ImageService/PullImage",
        "rpc.system.name": "grpc",
        "server.address": "/run/containerd/containerd.sock",
        "rpc.response.status_code": "OK",
    }


def test_a_failure_is_in_the_status_of_its_spans() -> None:
    node = {"name": "node-1", "sandboxErrors": ["no address left"]}
    spec = {"nodes": [node], "images": [{"name": "*", "present": True}], "duration": "20s", "objects": [pod("a")]}
    spans = flat(spans_of(Scenario.model_validate({"metadata": {"name": "s"}, "spec": spec})))
    failed = [span for span in spans if span["status"]]
    assert [span["name"] for span in failed] == ["runtime.v1.RuntimeService/RunPodSandbox", "syncPod"]
    call, sync = failed
    assert call["status"] == {"message": "no address left", "code": 2}
    assert call["attributes"]["rpc.response.status_code"] == "Unknown"
    assert "no address left" in sync["status"]["message"]
    [event] = sync["events"]
    assert (event["name"], event["timeUnixNano"]) == ("exception", sync["endTimeUnixNano"])
    assert attributes(event["attributes"]) == {"exception.message": sync["status"]["message"]}


def test_errors_are_redacted_as_in_the_log() -> None:
    requests: list[Request] = []
    sink = SpanSink(requests.append, "s", 0, redaction=Redaction(["hunter2"]))
    sink.record(r.SyncBegin(seq=1, node="n", pod="default/a", uid="u", sync="SyncPod"))
    sink.record(r.CriCall(seq=2, node="n", call="PullImage", cause=1))
    problem = "rpc error: code = Unknown desc = user hunter2 is refused: Bearer abc.def"
    sink.record(r.CriReturn(seq=3, node="n", call="PullImage", cause=2, error=problem))
    sink.record(r.SyncEnd(seq=4, node="n", pod="default/a", uid="u", error=problem))
    sink.flush()
    call, sync = flat(requests)
    assert call["status"]["message"] == f"user {REDACTED} is refused: Bearer {REDACTED}"
    assert sync["status"]["message"].endswith(call["status"]["message"])
    assert "hunter2" not in str(requests)


def test_ids_depend_only_on_the_run() -> None:
    scenario = shipped("hello-pod")
    assert spans_of(scenario) == spans_of(scenario)
    first, other = ({span["spanId"] for span in flat(spans_of(scenario, identity))} for identity in ("s 0", "s 1"))
    assert not first & other


def test_a_fraction_of_the_traces_is_sampled_and_each_completely() -> None:
    every = flat(spans_of(shipped("crashloop")))
    some = flat(spans_of(shipped("crashloop"), rate=500_000))
    assert 0 < len(some) < len(every)
    chosen = {span["traceId"] for span in some}
    assert some == [span for span in every if span["traceId"] in chosen]
    assert spans_of(shipped("crashloop"), rate=0) == []
    assert flat(spans_of(shipped("crashloop"), rate=1_000_000)) == every


def test_the_sampler_uses_the_second_half_of_the_id() -> None:
    low, high = bytes(15) + b"\x01", bytes(8) + b"\xff" * 8
    assert is_sampled(low, 1)
    assert not is_sampled(low, 0)
    assert is_sampled(high, 1_000_000)
    assert not is_sampled(high, 999_999)


def test_spans_of_a_killed_kubelet_are_lost() -> None:
    """The kubelet is killed during a pull of 30 s."""
    steps = [{"at": "10s", "stop": {"what": "kubelet"}}]
    spec = {"images": [{"name": "*", "pullTime": "30s"}], "duration": "60s", "objects": [pod("a")], "steps": steps}
    spans = flat(spans_of(Scenario.model_validate({"metadata": {"name": "s"}, "spec": spec})))
    assert [span["name"] for span in spans] == ["runtime.v1.RuntimeService/RunPodSandbox"]


def test_a_request_has_a_limited_number_of_spans() -> None:
    requests: list[Request] = []
    sink = SpanSink(requests.append, "s", 0)
    for number in range(BATCH + 1):
        seq = 2 * number + 1
        sink.record(r.CriCall(seq=seq, node="n", call="ExecSync"))
        sink.record(r.CriReturn(seq=seq + 1, node="n", call="ExecSync", cause=seq))
    sink.flush()
    assert [len(flat([request])) for request in requests] == [BATCH, 1]


def test_the_address_of_a_collector() -> None:
    assert parse_collector("http://localhost:4318").geturl() == "http://localhost:4318/v1/traces"
    assert parse_collector("https://example.org/otlp/").path == "/otlp/v1/traces"
    assert parse_collector("http://[::1]:4318/v1/traces").path == "/v1/traces"


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://x:0", "http://x:y", "http://u:p@x", "http://x?a=b"])
def test_an_invalid_address(url: str) -> None:
    with pytest.raises(UsageError, match="such as http://localhost:4318"):
        parse_collector(url)
