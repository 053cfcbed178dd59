"""The interceptor of a run, from its scenario."""

from __future__ import annotations

from kubesim.clock import LoopClock, Randomness
from kubesim.concurrency import TaskSet
from kubesim.scenario.faults.decide import FaultState
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.scenario.language.document import Spec
from kubesim.scenario.play.settings import duration_draw
from kubesim.trace import Recorder


def make_interceptor(
    spec: Spec, clock: LoopClock, recorder: Recorder, tasks: TaskSet, randomness: Randomness
) -> Interceptor:
    faults = [
        FaultState(number, fault, None if fault.latency is None else duration_draw(fault.latency))
        for number, fault in enumerate(spec.faults)
    ]
    return Interceptor(clock, recorder, tasks, randomness.stream("faults"), faults, spec.awaited_operations)
