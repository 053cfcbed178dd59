"""Conditions on records: their matches, and the errors of invalid ones."""

from __future__ import annotations

import pytest

from kubesim.errors import UsageError
from kubesim.trace.records import Actions, ApiWrite, CriCall, LoopSelect, PlegEvent, Record
from kubesim.trace.stepping import RecordCondition

DIED = PlegEvent(type="ContainerDied", pod="default/web", container="main", t=12_000_000)
CALL = CriCall(call="StartContainer", pod="shop/web", args={"attempt": 2, "cmd": ["sh", "-c"]})
PLAN = Actions(decision={"start": ["main", "side"], "createSandbox": True})
WRITE = ApiWrite(
    resource="nodes/status",
    summary={"containers": {"main": {"restartCount": 3}}, "memory.available": "5Mi", "phase": "Running"},
)
LOOP = LoopSelect(channel="pleg", ready=("pleg", "config"), why="ContainerDied of main")


@pytest.mark.parametrize(
    ("condition", "record"),
    [
        ("pleg.event", DIED),
        ("pleg.*", DIED),
        ("pleg.event ContainerDied", DIED),
        ("ContainerDied pod=web", DIED),
        ("pod=default/web", DIED),
        ("pod=shop/web", CALL),
        ("t>=12s t<12.5s", DIED),
        ("cri.call args.attempt=2", CALL),
        ("args.attempt>1", CALL),
        ("args.cmd=sh", CALL),
        ("call=Start*", CALL),
        ("call~Container", CALL),
        ("decision.start=side", PLAN),
        ("decision.createSandbox=true", PLAN),
        ("summary.containers.main.restartCount>=3", WRITE),
        ("summary.memory.available=5Mi", WRITE),
        ("summary~Running", WRITE),
        ("ready=config", LOOP),
        ("why~'ContainerDied of'", LOOP),
        ("kind=loop.select", LOOP),
        ("container!=other", DIED),
    ],
)
def test_it_matches(condition: str, record: Record) -> None:
    assert RecordCondition.parse(condition).matches(record)


@pytest.mark.parametrize(
    ("condition", "record"),
    [
        ("pleg.event ContainerStarted", DIED),
        ("cri.call", DIED),
        ("pod=web", CALL),  # another namespace
        ("t>12s", DIED),
        ("container!=main", DIED),
        ("decision.start=other", PLAN),
        ("summary.containers.main.restartCount>3", WRITE),
        ("summary.containers.none.restartCount>=0", WRITE),
        ("decision.createSandbox>0", PLAN),  # true is not a number
        ("ContainerDied", LOOP),  # a reason is a different field
        ("call=StartContainer", DIED),
    ],
)
def test_it_does_not_match(condition: str, record: Record) -> None:
    assert not RecordCondition.parse(condition).matches(record)


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("", "an empty condition"),
        ("pleg.evnt", "there is no kind 'pleg.evnt'; there are .*pleg.event"),
        ("pd=web", "no record has a field 'pd'; there are .*pod"),
        ("t>soon", "'soon' is not a number or a duration"),
        ("why~'open", "no closing quotation"),
    ],
)
def test_an_error_is_reported(condition: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        RecordCondition.parse(condition)
