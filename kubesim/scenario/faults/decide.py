"""Decides which fault an operation meets. Pure, except for the random stream of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from kubesim.clock.randomness import Stream
from kubesim.golang.text import duration
from kubesim.runtime.simulated.draws import Draw
from kubesim.scenario.language.operations.fault_items import FaultItem, Result
from kubesim.scenario.language.operations.names import is_operation
from kubesim.values import mutable, value_object


@value_object
class Operation:
    """An operation. `subject` is its image, volume, plugin, file or object; `pod` is `namespace/name`."""

    group: str
    name: str
    node: str = ""
    pod: str = ""
    container: str = ""
    subject: str = ""

    @property
    def text(self) -> str:
        return f"{self.group}.{self.name}" if self.group in ("cni", "api", "disk") else self.name


@value_object
class Outcome:
    """The effect of a fault on one operation, and the reason."""

    kind: Result
    fault: FaultItem
    latency: int
    why: str

    @property
    def text(self) -> str:
        late = f"{duration(self.latency)} late" if self.latency else ""
        shown = {"late": "", "error": f"error: {self.fault.error or DEFAULT_ERROR}", "torn": "torn write"}
        what = shown.get(self.kind, self.kind)
        if self.kind == "crash" and self.fault.crash is not None:
            what = f"crash of the {_COMPONENTS.get(self.fault.crash.what, self.fault.crash.what)}"
        if self.fault.is_power_failure:
            what += ", and the write is torn"
        if self.fault.moment == "after" and self.kind in ("error", "hang", "crash"):
            what += ", after it has had its effect"
        return ", ".join(filter(None, (late, what)))


DEFAULT_ERROR = "injected fault"
_COMPONENTS = {"apiserver": "API server", "connection": "connection to the API server"}


def ends_operation(outcome: Outcome, operation: Operation) -> bool:
    """Whether a crash takes the caller or the callee of the operation with it; other operations continue."""
    assert outcome.fault.crash is not None
    what = outcome.fault.crash.what
    return what in ("kubelet", "node") or (what == "runtime" and operation.group in ("runtime", "image", "cni"))


def cuts_connection(outcome: Outcome) -> bool:
    """Whether a crash cuts the node's connection to the API server."""
    return outcome.fault.crash is not None and outcome.fault.crash.what in ("apiserver", "connection")


@mutable(eq=False)
class FaultState:
    """A fault of the scenario: its number in the file, the number of matching operations, the number of those that it
    could affect, and how often it happened."""

    number: int
    fault: FaultItem
    latency: Draw | None
    matched: int = 0
    operations: int = 0
    happened: int = 0


def matches_pod(pattern: str, pod: str) -> bool:
    """Whether a glob matches a pod, by its name or by `namespace/name`."""
    return fnmatchcase(pod, pattern) or fnmatchcase(pod.rpartition("/")[2], pattern)


def is_about(fault: FaultItem, operation: Operation) -> bool:
    return (
        is_operation(fault.operation, operation.group, operation.name)
        and fnmatchcase(operation.node, fault.node)
        and matches_pod(fault.pod, operation.pod)
        and fnmatchcase(operation.container, fault.container)
        and fnmatchcase(operation.subject, fault.subject)
    )


def decide_fault(state: FaultState, stream: Stream) -> Outcome | None:
    """The outcome that this fault gives the next matching operation; None if it has no effect. Counts the operation."""
    fault = state.fault
    state.operations += 1
    kind: Result = fault.kinds[0] if fault.kinds else "late"
    if fault.results:
        kind = fault.results[state.operations - 1] if state.operations <= len(fault.results) else "ok"
    elif fault.times is not None and state.happened >= fault.times:
        return None
    if kind == "ok" or (fault.probability < 1 and stream.random() >= fault.probability):
        return None
    state.happened += 1
    chance = f" with probability {fault.probability:g}" if fault.probability < 1 else ""
    number = _ordinal(max(state.matched, state.operations))
    why = f"spec.faults[{state.number}]{chance}, {number} {fault.operation} that it is about"
    latency = state.latency.draw(stream) if state.latency is not None else 0
    return Outcome(kind, fault, latency, why)


def why_unused(state: FaultState) -> str:
    """Why a fault never happened because of a mistake in the file, such as a wrong name; empty if it happened."""
    fault = state.fault
    if not state.matched:
        return "no operation of the run matched it: check its names and times"
    if state.matched < fault.nth:
        return f"the run had {state.matched} such operations, and nth is {fault.nth}"
    if not state.operations:
        return "faults before it in the list took all of its operations"
    if fault.results and not state.happened and fault.probability == 1:
        wrong = next(number for number, result in enumerate(fault.results, 1) if result != "ok")
        return f"the run had {state.operations} such operations; its first result but ok comes at the {_ordinal(wrong)}"
    return ""


def first_fault(states: Sequence[FaultState], operation: Operation, elapsed: int, stream: Stream) -> Outcome | None:
    """The outcome of the first fault that an operation meets at this time; None if the operation succeeds."""
    outcome = None
    for state in states:
        fault = state.fault
        if fault.begin <= elapsed and (fault.end is None or elapsed < fault.end) and is_about(fault, operation):
            state.matched += 1  # nth counts all of them, also those with another fault
            if outcome is None and state.matched >= fault.nth:
                outcome = decide_fault(state, stream)
    return outcome


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
