"""An added step or fault changes nothing before its time."""

from __future__ import annotations

import pytest

from kubesim.app import Trial, run_scenario
from kubesim.scenario.load.assembly.added import AddedItem
from kubesim.scenario.load.loader import load_runs
from kubesim.trace import MemorySink, Record
from kubesim.trace.records import Expectation, Fault, Note
from tests.support.stepping import SCENARIOS, records


def played(name: str, *texts: str, t: int) -> list[Record]:
    added = [AddedItem.parse(text, t) for text in texts]
    ((_, scenario),) = load_runs([str(SCENARIOS / f"{name}.yaml")], added=added)
    own, steps = scenario.without_last_steps(sum(item.list == "steps" for item in added))
    sink = MemorySink()
    run_scenario(own, sinks=(sink,), trial=Trial(own.gates, added=steps))
    return sink.records


STOP, FAULT = "stop: kubelet", "operation: StartContainer, error: refused, times: 1"


@pytest.mark.parametrize("text", [STOP, FAULT, "hang: {call: StopContainer, for: 5s}"])
@pytest.mark.parametrize("name", ["hello-pod", "crashloop", "graceful-delete", "static-pod", "job"])
@pytest.mark.parametrize("part", [0.2, 0.6])
def test_the_trace_before_it_is_unchanged(name: str, text: str, part: float) -> None:
    before = records(name)
    t = before[int(len(before) * part)].t
    until = [record for record in before if record.t <= t]
    after = played(name, text, t=t)
    assert after[: len(until)] == until
    assert tuple(after) != before


def test_a_step_after_the_end_extends_the_run() -> None:
    before = records("hello-pod")
    after = played("hello-pod", STOP, t=before[-1].t)
    own = [record for record in before if not isinstance(record, Expectation)]
    assert [record for record in after if not isinstance(record, Expectation)][: len(own)] == own
    assert any(isinstance(record, Note) and record.ends_kubelet for record in after)
    assert after[-1].t > before[-1].t


def test_disturbed_pods_are_not_deleted_30_s_after_the_first_idle_time() -> None:
    started = next(record.t for record in records("hello-pod") if getattr(record, "reason", "") == "Started")
    after = played("hello-pod", "kill: {pod: hello}", t=started)
    texts = [record.text for record in after if isinstance(record, Note)]
    assert not any(text.startswith("no steps: pods are deleted") for text in texts)
    assert [getattr(record, "reason", "") for record in after].count("Started") == 2


def test_an_added_fault_happens_from_its_time_on() -> None:
    t = next(record.t for record in records("crashloop") if record.t > 10_000_000)
    faults = [record for record in played("crashloop", FAULT, t=t) if isinstance(record, Fault)]
    assert len(faults) == 1
    assert faults[0].t > t
