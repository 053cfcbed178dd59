"""`-o perfetto`: parsed with Perfetto's own messages, the slices are those of the trace."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from kubesim.cli.main import main
from kubesim.trace import records as r
from kubesim.trace.perfetto.encode import encoded
from kubesim.trace.perfetto.tracks import TrackSink

SCENARIOS = Path(__file__).parents[3] / "scenarios"
STORIES = ("hello-pod", "two-nodes", "kubelet-restart", "graceful-delete")
SYNCS = {
    "SyncPod": "syncPod",
    "SyncTerminatingPod": "syncTerminatingPod",
    "SyncTerminatedPod": "syncTerminatedPod",
    "SyncTerminatingRuntimePod": "syncTerminatingRuntimePod",
}


def packets(data: bytes) -> Any:
    return Trace.FromString(data).packet


def tracks(data: bytes) -> dict[int, tuple[str, ...]]:
    """The names of each track and of its parents."""
    paths: dict[int, tuple[str, ...]] = {}
    for packet in packets(data):
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            paths[track.uuid] = (*paths.get(track.parent_uuid, ()), track.name or track.process.process_name)
    return paths


def events(data: bytes) -> list[tuple[int, Any]]:
    return [(packet.timestamp, packet.track_event) for packet in packets(data) if packet.HasField("track_event")]


def spans(data: bytes) -> list[tuple[tuple[str, ...], str, int, int]]:
    """Track, name, begin and end in nanoseconds. Slices of a track must nest, or Perfetto does not show them."""
    paths, stacks = tracks(data), defaultdict[int, list[tuple[str, int]]](list)
    found = []
    for moment, event in events(data):
        stack = stacks[event.track_uuid]
        if event.type == event.TYPE_SLICE_BEGIN:
            stack.append((event.name, moment))
        elif event.type == event.TYPE_SLICE_END:
            name, begin = stack.pop()
            found.append((paths[event.track_uuid], name, begin, moment))
    assert not any(stacks.values())
    return sorted(found)


def played(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> tuple[bytes, list[dict[str, Any]]]:
    file = str(SCENARIOS / f"{name}.yaml")
    assert main(["run", file, "-o", "perfetto"]) == 0
    data = capsysbinary.readouterr().out
    assert main(["run", file, "-o", "jsonl"]) == 0
    return data, [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]


def nanoseconds(record: dict[str, Any]) -> int:
    return int(round(record["t"] * 1_000_000) * 1_000)


@pytest.mark.parametrize("name", STORIES)
def test_every_sync_and_every_call_of_the_trace_is_a_slice(
    name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    data, records = played(name, capsysbinary)
    found = spans(data)
    syncs: dict[str, dict[str, Any]] = {}
    begun, expected = 0, []
    calls = {record["seq"]: record for record in records if record["kind"] == "cri.call"}
    for record in records:
        if record["kind"] == "sync.begin":
            syncs[record["uid"]] = record
            begun += 1
        elif record["kind"] == "sync.end":
            begin = syncs.pop(record["uid"])
            expected.append((SYNCS[begin["sync"]], nanoseconds(begin), nanoseconds(record)))
        elif record["kind"] == "cri.return":
            begin = calls[record["cause"]]
            expected.append((begin["call"], nanoseconds(begin), nanoseconds(record)))
    assert expected
    assert set(expected) <= {(name, begin, end) for _, name, begin, end in found}
    assert len(found) == begun + len(calls)  # including those that never ended


def test_a_node_is_a_process_with_a_track_for_each_pod_and_calls_below_it(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    data, _ = played("hello-pod", capsysbinary)
    paths = set(tracks(data).values())
    node = next(path[0] for path in paths if path[-1] == "sync loop")
    assert {(node,), (node, "pod default/hello"), (node, "pod default/hello", "runtime calls")} <= paths


def test_arrows_lead_from_causes_to_effects(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    data, records = played("hello-pod", capsysbinary)
    begun = {_annotation(event, "seq"): event for _, event in events(data) if event.name}
    left = {flow: seq for seq, event in begun.items() for flow in event.flow_ids}
    ended = {flow: seq for seq, event in begun.items() for flow in event.terminating_flow_ids}
    assert left.keys() == ended.keys()
    causes = {record["seq"]: record.get("cause") for record in records}
    starts = [seq for seq, event in begun.items() if event.name == "StartContainer"]
    assert starts
    assert all(causes[ended[flow]] is not None and left[flow] < ended[flow] for flow in ended)
    assert all(left[begun[seq].terminating_flow_ids[0]] == causes[seq] for seq in starts)


def test_a_slice_has_the_reason_and_the_upstream_function(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    data, records = played("hello-pod", capsysbinary)
    sync = next(record for record in records if record["kind"] == "sync.begin")
    event = next(event for _, event in events(data) if event.name == "syncPod")
    assert (_annotation(event, "why"), _annotation(event, "ref")) == (sync["why"], sync["ref"])


def test_overlapping_calls_are_in_separate_lanes_and_unfinished_ones_end_with_the_trace() -> None:
    sink = TrackSink()
    for record in (
        r.CriCall(seq=1, t=10, node="n", pod="default/a", call="StopContainer", container="one"),
        r.CriCall(seq=2, t=20, node="n", pod="default/a", call="StopContainer", container="two"),
        r.CriReturn(seq=3, t=30, node="n", pod="default/a", call="StopContainer", cause=1),
        r.CriCall(seq=4, t=30, node="n", pod="default/a", call="RemoveContainer", container="one"),
        r.Note(seq=5, t=90, node="n", text="the end"),
    ):
        sink.record(record)
    pod = ("n", "pod default/a")
    assert spans(encoded(sink.spans())) == [
        ((*pod, "runtime calls"), "RemoveContainer", 30_000, 90_000),
        ((*pod, "runtime calls"), "StopContainer", 10_000, 30_000),
        ((*pod, "runtime calls 2"), "StopContainer", 20_000, 90_000),
    ]


def test_values_of_all_types_are_annotations() -> None:
    sink = TrackSink()
    details = {"count": 3, "huge": 1 << 70, "part": 0.5, "on": True, "list": [1, "two"], "map": {"a": "\ud800"}}
    sink.record(r.CriCall(seq=1, node="n", call="StopContainer", args=details))
    [event] = [event for _, event in events(encoded(sink.spans())) if event.name]
    args = next(each for each in event.debug_annotations if each.name == "args")
    values = {each.name: each for each in args.dict_entries}
    assert values["count"].int_value == 3
    assert values["huge"].string_value == str(1 << 70)
    assert values["part"].double_value == 0.5
    assert values["on"].bool_value is True
    assert [item.int_value or item.string_value for item in values["list"].array_values] == [1, "two"]
    assert values["map"].dict_entries[0].string_value == "?"


def test_two_runs_cannot_share_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(SCENARIOS / f"{name}.yaml") for name in STORIES[:2]]
    assert main(["run", *files, "-o", "perfetto"]) == 2
    assert "-o perfetto is one picture of one run: give one scenario" in capsys.readouterr().err


def _annotation(event: Any, key: str) -> Any:
    found = next(each for each in event.debug_annotations if each.name == key)
    return found.int_value if found.HasField("int_value") else found.string_value
