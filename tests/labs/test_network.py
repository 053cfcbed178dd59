"""Labs with real CNI plugins: what a run of them looks like as a trace, and what is said where it cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesim.errors import UsageError
from kubesim.labs.network import NetworkExercise, play_network, to_records
from kubesim.trace.records import CniExec, CriCall, CriReturn, Note
from tests.support.labs import LABS
from tests.support.machine.cni_host import on_host
from tests.support.machine.host_state import host_state


def seen(do: str, *, error: str = "", **more: Any) -> dict[str, Any]:
    execution = {"plugin": "bridge", "delegated": False, "command": do.upper(), "answer": {}, "error": error}
    whole = {"do": do, "pod": "p", "id": "s", "executions": [execution], "error": error, "reserved": ["10.0.0.2"]}
    return {**whole, **more}


def test_a_step_is_a_call_its_plugins_its_end_and_the_addresses() -> None:
    records = list(to_records([seen("add"), {"do": "replace", "say": "repaired"}, seen("delete", error="no")]))
    assert [type(record) for record in records] == [
        CriCall, CniExec, CriReturn, Note, Note, CriCall, CniExec, CriReturn, Note,
    ]  # fmt: skip
    assert [record.seq for record in records] == list(range(1, 10))
    assert [record.t // 1_000_000 for record in records] == [0, 0, 0, 0, 1, 2, 2, 2, 2]
    assert [record.cause for record in records] == [None, 1, 1, 1, None, None, 6, 6, 6]
    returned = records[7]
    assert isinstance(returned, CriReturn)
    assert (returned.call, returned.error) == ("StopPodSandbox", "no")


def test_without_the_plugins_the_lab_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBESIM_CNI_BIN_DIR", str(tmp_path))
    exercise = LABS[9].network
    assert exercise is not None
    with pytest.raises(UsageError, match=r"bridge and host-local, which are not in .* containernetworking-plugins"):
        play_network(exercise)


def test_an_exercise_step_does_one_thing() -> None:
    with pytest.raises(ValueError, match="a step does one of add, delete, replace"):
        NetworkExercise.model_validate({"configuration": {}, "needs": [], "steps": [{"add": "a", "delete": "b"}]})


def played_twice() -> dict[str, Any]:
    exercise = LABS[9].network
    assert exercise is not None
    before = host_state()
    first, second = play_network(exercise), play_network(exercise)
    kinds = [[record.KIND for record in run] for run in (first, second)]
    return {"kinds": kinds, "before": before, "after": host_state()}


def test_nothing_of_it_stays_on_the_machine() -> None:
    found = on_host(played_twice)
    assert found["after"] == found["before"]
    # Names and addresses that the kernel draws differ; the kinds of records do not.
    assert found["kinds"][0] == found["kinds"][1]
