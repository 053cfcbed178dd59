"""The decision about a fault, from the fault, its count and the random stream."""

from __future__ import annotations

from typing import Any

from kubesim.clock import Randomness
from kubesim.runtime.simulated.settings import Span
from kubesim.scenario.faults.decide import FaultState, Operation, decide_fault, first_fault, is_about
from kubesim.scenario.language.operations.fault_items import FaultItem

CREATE = Operation("runtime", "CreateContainer", "node-1", "default/web-1", "main")


def fault(**fields: Any) -> FaultState:
    return FaultState(0, FaultItem.model_validate({"operation": "CreateContainer", **fields}), None)


def kinds(state: FaultState, calls: int, seed: int = 0) -> list[str]:
    stream = Randomness(seed).stream("faults")
    return [outcome.kind if (outcome := decide_fault(state, stream)) else "ok" for _ in range(calls)]


def test_without_times_it_always_happens() -> None:
    assert kinds(fault(error="no"), 3) == ["error", "error", "error"]


def test_times_limits_the_number() -> None:
    assert kinds(fault(error="no", times=2), 4) == ["error", "error", "ok", "ok"]


def test_results_are_used_in_order_and_then_calls_succeed() -> None:
    state = fault(results=["ok", "error", "hang", "crash"], crash="kubelet")
    assert kinds(state, 6) == ["ok", "error", "hang", "crash", "ok", "ok"]


def test_a_probability_depends_on_the_seed() -> None:
    drawn = [kinds(fault(error="no", probability=0.3), 1000, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert 250 < drawn[0].count("error") < 350


def test_times_counts_faults_and_not_calls() -> None:
    assert kinds(fault(error="no", probability=0.3, times=5), 1000).count("error") == 5


def test_a_latency_alone_delays_the_operation() -> None:
    state = FaultState(3, FaultItem.model_validate({"operation": "PullImage", "latency": "2s"}), Span(2_000_000))
    outcome = decide_fault(state, Randomness(0).stream("faults"))
    assert outcome is not None
    assert (outcome.kind, outcome.latency, outcome.text) == ("late", 2_000_000, "2s late")
    assert outcome.why == "spec.faults[3], 1st PullImage that it is about"


def test_all_globs_must_match() -> None:
    def about(**fields: Any) -> bool:
        return is_about(fault(error="no", **fields).fault, CREATE)

    assert about()
    assert about(operation="runtime.*", node="node-*", pod="web-*", container="m*")
    assert about(pod="default/web-1")
    assert not about(operation="api.*")
    assert not about(pod="other/web-1")
    assert not about(node="node-2")
    assert not about(container="side")


def test_the_first_fault_within_its_time_is_used() -> None:
    stream = Randomness(0).stream("faults")
    early, late = fault(error="early", end="10s"), fault(error="late", begin="5s")
    reported = [first_fault((early, late), CREATE, second * 1_000_000, stream) for second in (0, 6, 10)]
    assert [outcome.fault.error if outcome else "" for outcome in reported] == ["early", "early", "late"]
    assert (early.operations, late.operations) == (2, 1)
