"""The trace as JSON lines: all fields by name, time with six decimals."""

from __future__ import annotations

import io
import json

from kubesim.trace import records as r
from kubesim.trace.records import KINDS
from kubesim.trace.sinks.jsonl import JsonLinesSink, record_line


def test_a_record_is_one_line() -> None:
    record = r.WorkerUpdate(seq=4, t=1_500_000, cause=3, pod="default/a", uid="u", update="sync", why="because\nso")
    assert record_line(record) == (
        '{"seq": 4, "t": 1.500000, "kind": "worker.update", "pod": "default/a", "uid": "u", "update": "sync",'
        ' "cause": 3, "why": "because\\nso", "ref": "pkg/kubelet/pod_workers.go UpdatePod"}'
    )


def test_every_kind_can_be_read_back() -> None:
    out = io.StringIO()
    sink = JsonLinesSink(out)
    for kind in KINDS:
        sink.record(kind(seq=1, t=1, cause=None))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["kind"] for line in lines] == [kind.KIND for kind in KINDS]
    assert all(line["t"] == 0.000001 and "cause" not in line for line in lines)
