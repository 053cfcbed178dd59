"""Saved traces: a round trip, and one-line errors for invalid files."""

from __future__ import annotations

import json

import pytest

from kubesim.errors import InputError
from kubesim.trace.compare.saved import as_saved, read_trace
from kubesim.trace.records import KINDS, CriCall, Handler, Note
from kubesim.trace.sinks.jsonl import record_line
from tests.support.stepping import records

NOTE = '{"seq": 1, "t": 0.000000, "kind": "note", "text": "x"}'


@pytest.mark.parametrize("scenario", ["crashloop", "probes", "workloads/rollback"])
def test_a_written_trace_is_read(scenario: str) -> None:
    """Also when it is written again: nothing is lost."""
    written = [record_line(record) for record in records(scenario)]
    assert [record_line(record) for record in read_trace(written, "saved")] == written


def test_every_kind_can_be_read() -> None:
    for kind in KINDS:
        [read] = read_trace([record_line(kind(seq=1))], "saved")
        assert type(read) is kind


def test_times_are_microseconds_and_lists_are_tuples_again() -> None:
    [read] = as_saved([Handler(seq=1, t=1_234_567, pods=("a", "b"))])
    assert read == Handler(seq=1, t=1_234_567, pods=("a", "b"))


def test_empty_lines_are_not_records() -> None:
    assert len(read_trace([NOTE, "", " \n"], "saved")) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a.jsonl: it has no records: give what `kubesim run -o jsonl` printed"),
        ("{", "a.jsonl:1: not JSON: Expecting property name enclosed in double quotes at column 2"),
        ("[" * 100_000, "a.jsonl:1: not JSON that can be read: nested too deeply"),
        ("[1]", "a.jsonl:1: is not a trace record"),
        ('{"apiVersion": "v1", "kind": "Pod"}', "a.jsonl:1: unknown kind of record 'Pod'"),
        ('{"kind": ["note"]}', "a.jsonl:1: unknown kind of record"),
        (f"{NOTE}\n{NOTE}", "a.jsonl:2: another run begins here: save each run in a separate file"),
        (NOTE.replace('"seq": 1', '"seq": 4'), "a.jsonl:1: record 1 is missing: the next one has the number 4"),
        (NOTE.replace('"text"', '"words"'), "a.jsonl:1: words: does not fit a record of kind note"),
        (NOTE.replace('"x"', "7"), "a.jsonl:1: text: does not fit a record of kind note"),
        (NOTE.replace("0.000000", '"0"'), "a.jsonl:1: t: does not fit a record of kind note"),
        (NOTE.replace('"text"', '"cause": "x", "text"'), "a.jsonl:1: cause: does not fit a record of kind note"),
        ('{"seq": 1, "t": 0, "kind": "handler", "pods": "all"}', "a.jsonl:1: pods: does not fit a record"),
        ('{"seq": 1, "t": 0, "kind": "cri.call", "args": {"cmd": 5}}', "a.jsonl:1: does not fit a record of kind"),
    ],
)
def test_a_damaged_or_foreign_file_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_trace(text.split("\n"), "a.jsonl")
    assert str(error.value).startswith(problem)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("summary", [{"containers": 5}, {"containers": {"main": {}}}, {"conditions": ["Ready"]}])
def test_an_invalid_status_is_rejected(summary: dict[str, object]) -> None:
    written = {"seq": 1, "t": 0, "kind": "api.write", "pod": "a/b", "resource": "pods/status", "by": "kubelet"}
    with pytest.raises(InputError, match=r"does not fit a record of kind api\.write"):
        read_trace([json.dumps({**written, "summary": summary})], "a.jsonl")


def test_a_truncated_last_line_is_named() -> None:
    line = record_line(CriCall(seq=2, call="StartContainer"))
    with pytest.raises(InputError, match=r"^a\.jsonl:2: not JSON"):
        read_trace([record_line(Note(seq=1, text="x")), line[:-5]], "a.jsonl")
