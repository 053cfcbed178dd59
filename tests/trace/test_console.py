"""The timeline: the text of each record, levels of detail, and line breaks."""

from __future__ import annotations

import io
from itertools import count

from kubesim.trace import records as r
from kubesim.trace.records import KINDS, Record
from kubesim.trace.sinks.console import ConsoleSink, Level
from kubesim.trace.sinks.phrases import phrase, subject


def reported(*records: Record, level: Level = "story", width: int = 200, colour: bool = False) -> list[str]:
    out = io.StringIO()
    sink = ConsoleSink(out, level, width=width, colour=colour)
    numbers = count(1)
    for record in records:
        record.seq = record.seq or next(numbers)
        sink.record(record)
    sink.close()
    return out.getvalue().splitlines()


def words(line: str) -> list[str]:
    return line.split()


def test_every_kind_of_record_has_a_text() -> None:
    for kind in KINDS:
        said = phrase(kind())
        assert said.part
        assert len(said.part) <= 8


def test_a_line_has_time_part_pod_and_event() -> None:
    lines = reported(
        r.ConfigUpdate(
            t=1_500_000, pod="default/hello", source="api", op="ADD", pods=("default/hello",), why="it is new"
        )
    )
    assert words(lines[0]) == ["TIME", "PART", "POD", "WHAT", "HAPPENED"]
    assert lines[1] == "   1.500  source   hello            ADD from source api — it is new"


def test_a_time_is_printed_once() -> None:
    lines = reported(
        r.WorkerState(t=7, pod="default/a", state="terminating"), r.WorkerState(t=7, pod="default/a", state="finished")
    )
    assert words(lines[1])[0] == "0.000"
    assert words(lines[2])[0] == "worker"


def test_channel_and_handler_are_one_line_printed_once_per_instant() -> None:
    records = []
    for n in (10, 20):
        records += [
            r.LoopSelect(seq=n, channel="pleg", ready=("pleg",)),
            r.Handler(seq=n + 1, cause=n, name="HandlePodSyncs", pods=("default/a",)),
            r.WorkerUpdate(seq=n + 2, cause=n + 1, pod="default/a", update="sync", why="the worker will sync the pod"),
        ]
    lines = reported(*records)
    assert [words(line)[-4:] for line in lines[1:]] == [
        ["a", "pleg", "→", "HandlePodSyncs"],
        ["worker", "a", "UpdatePod(sync)"],
    ]


def test_actions_of_a_sync_are_behind_its_bar() -> None:
    lines = reported(
        r.SyncBegin(seq=5, pod="default/a", sync="SyncPod"),
        r.Actions(
            cause=5, pod="default/a", decision={"killPod": True, "createSandbox": True, "start": ["web"]}, why="new"
        ),
        r.CriCall(seq=7, cause=5, pod="default/a", call="RunPodSandbox", args={"attempt": 0}),
        r.PlegEvent(cause=5, pod="default/b", type="ContainerDied"),
        r.CriReturn(cause=7, t=1, pod="default/a", call="RunPodSandbox", result="id"),
        r.SyncEnd(cause=5, t=1, pod="default/a", sync="SyncPod", error="no network", requeue=10_000_000),
    )
    texts = [line.split("  a                ")[-1] for line in lines[1:]]
    assert texts[0] == "┌ SyncPod"
    assert texts[1] == "│ create sandbox, start web — new"
    assert texts[2] == "│ RunPodSandbox"
    assert "│" not in texts[3]
    assert texts[4] == "└ SyncPod failed, retry in 10s: no network"
    assert len(texts) == 5


def test_a_sync_without_actions_is_one_line() -> None:
    lines = reported(
        r.SyncBegin(seq=5, pod="default/a", sync="SyncPod"),
        r.StatusSet(cause=5, pod="default/a"),
        r.Actions(cause=5, pod="default/a", why="nothing to do: web is running and unchanged"),
        r.SyncEnd(cause=5, pod="default/a", sync="SyncPod"),
    )
    assert [line[36:] for line in lines[1:]] == ["─ SyncPod: nothing to do: web is running and unchanged"]


def test_expectations_are_reported_after_the_records_that_decide_them() -> None:
    lines = reported(
        r.Expectation(t=1, pod="default/a", expectation="a is Running", met=True),
        r.WorkerState(t=1, pod="default/a", state="terminated"),
        r.WorkerState(t=2, pod="default/a", state="finished"),
    )
    assert [line[36:] for line in lines[1:]] == ["now terminated", "met: a is Running", "now finished"]


def test_a_call_that_fails_or_is_slow_is_reported_when_it_returns() -> None:
    lines = reported(
        r.CriCall(seq=1, call="StopContainer", args={"timeout": 30}),
        r.CriReturn(cause=1, t=30_000_000, call="StopContainer"),
        r.CriCall(seq=3, t=30_000_000, call="StopContainer", args={"timeout": 30}),
        r.CriReturn(cause=3, t=30_000_000, call="StopContainer", error="not found"),
    )
    texts = [line[36:] for line in lines[1:] if line]
    assert texts == [
        "StopContainer with a grace period of 30s",
        "StopContainer returned after 30s",
        "StopContainer with a grace period of 30s",
        "StopContainer failed: not found",
    ]


def summary(phase: str, state: str, ready: bool, conditions: dict[str, str]) -> dict[str, object]:
    container = {"state": state, "ready": ready, "started": ready, "restartCount": 0}
    return {"phase": phase, "conditions": conditions, "containers": {"web": container}}


def test_a_status_shows_its_changes() -> None:
    first = summary("Pending", "waiting/ContainerCreating", False, {"Ready": "False/ContainersNotReady"})
    second = summary("Running", "running", True, {"Ready": "True"})
    lines = reported(
        *(r.ApiWrite(t=t, uid="u", pod="default/a", verb="patch", resource="pods/status", by="kubelet", summary=given)
          for t, given in ((1, first), (2, second), (3, second))),
        level="quiet",
    )  # fmt: skip
    texts = [line[36:] for line in lines[1:]]
    assert texts == [
        "Pending · web: waiting/ContainerCreating · Ready=False (ContainersNotReady)",
        "Pending → Running · web: waiting/ContainerCreating → running, started, ready · Ready=True",
        "only times and messages changed",
    ]


def test_quiet_prints_outcomes_only() -> None:
    lines = reported(
        r.SyncBegin(pod="default/a", sync="SyncPod"),
        r.EventRecorded(pod="default/a", container="web", type="Warning", reason="BackOff", message="Back-off"),
        r.Expectation(expectation="a is Running", met=False),
        level="quiet",
    )
    assert [words(line)[:2] for line in lines[1:]] == [["0.000", "event"], ["expect", "FAILED:"]]
    assert "Warning BackOff: Back-off" in lines[1]


def test_verbose_shows_every_record_with_its_cause_and_upstream_function() -> None:
    lines = reported(
        r.LoopSelect(seq=8, cause=3, channel="config", ready=("config", "pleg")),
        r.CriReturn(seq=9, pod="default/a", call="StartContainer"),
        r.StatusSet(seq=10, pod="default/a", phase="Pending", version=2),
        level="verbose",
    )
    assert words(lines[1])[:3] == ["8", "←3", "0.000"]
    assert "channel config (ready: config, pleg) [pkg/kubelet/kubelet.go syncLoopIteration]" in lines[1]
    assert len(lines) == 4


def test_long_text_is_wrapped_under_its_column() -> None:
    lines = reported(r.Note(pod="default/a", text="one two three four five six seven eight nine ten"), width=70)
    assert all(len(line) <= 70 for line in lines)
    assert lines[2].startswith(" " * 36)
    assert " ".join(words(" ".join(lines[1:]))[3:]) == "one two three four five six seven eight nine ten"


def test_long_names_are_shortened_and_columns_stay() -> None:
    record = r.Note(pod="a-very-long-namespace/an-even-longer-name-of-a-pod-7d4b9c", container="web", text="x")
    assert subject(record).endswith(":web")
    line = reported(record, width=80)[1]
    assert "…" in line
    assert line.endswith(" x")


def test_colours_only_when_requested() -> None:
    event = r.EventRecorded(type="Warning", reason="BackOff", message="m")
    assert not any("\x1b" in line for line in reported(event))
    assert any("\x1b[33m" in line for line in reported(event, colour=True))
