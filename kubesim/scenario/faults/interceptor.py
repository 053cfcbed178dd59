"""`Interceptor`: every operation of a run passes through it, if the scenario has faults or steps before or after an
operation.

A wrapper for each kind of operation (`runtime.py`, `client.py`, `volumes.py`, `plugins.py`, `files.py`) calls it;
`decide.py` decides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import field
from typing import Any, NoReturn, TypeVar

from kubesim.api.timestamps import SECOND
from kubesim.clock import Awaited, LoopClock
from kubesim.clock.randomness import Stream
from kubesim.concurrency import TaskSet
from kubesim.errors import ApiError, KubesimError, PluginError, RuntimeCallError
from kubesim.runtime.protocol import UNKNOWN_ERROR
from kubesim.scenario.faults.decide import (
    DEFAULT_ERROR,
    FaultState,
    Operation,
    Outcome,
    cuts_connection,
    ends_operation,
    first_fault,
    matches_pod,
)
from kubesim.scenario.language.operations.fault_items import Crash
from kubesim.scenario.language.operations.names import is_operation
from kubesim.scenario.language.operations.when_items import When
from kubesim.scenario.language.step_items import Hang
from kubesim.trace import Recorder
from kubesim.trace.records import Fault, OperationPassed
from kubesim.values import part

T = TypeVar("T")
INSTANT = 1  # one microsecond: everything else at this instant happens first
CONNECTION_LOST = "http2: client connection lost"
LOST_CONNECTION = 45 * SECOND  # client-go's HTTP/2 pings detect a dead connection after this time


@part
class AwaitedOperation:
    """A step before or after an operation. `left` is the number of matching operations until the step runs."""

    when: When
    left: int
    happens: Callable[[], None]

    def is_about(self, moment: str, operation: Operation) -> bool:
        when, pattern = self.when, self.when.after if moment == "after" else self.when.before
        return (
            self.left > 0
            and is_operation(pattern, operation.group, operation.name)
            and when.node in ("", operation.node)
            and (not when.pod or matches_pod(when.pod, operation.pod))
            and when.container in ("", operation.container)
        )


@part
class Interceptor:
    """Applies faults and steps to operations. `crash` ends a component of a node and starts it again. It does nothing
    before the story begins (`active`)."""

    clock: LoopClock
    recorder: Recorder
    tasks: TaskSet
    stream: Stream
    faults: list[FaultState]
    awaited_names: tuple[str, ...]  # operations that a step waits for
    crash: Callable[[str, Crash], Coroutine[Any, Any, None]] | None = None
    active: bool = False
    observes: bool = False  # whether operations are details of the trace
    disturbed_at: int = 0  # the time of the last fault
    awaited: list[AwaitedOperation] = field(default_factory=list)
    _hanging: list[tuple[Hang, str, int]] = field(default_factory=list)  # with the node, and the end of the hang
    _met: dict[int, bool] = field(default_factory=dict)  # by id of the hang: whether an operation met it

    def hang(self, hang: Hang, node: str, until: int) -> None:
        """Make operations of a node hang until the time `until`."""
        self.disturbed_at = max(self.disturbed_at, until)
        self._met.setdefault(id(hang), False)
        self._hanging.append((hang, node, until))

    def concerns(self, group: str, name: str) -> bool:
        """Whether a fault or a step may match this operation at any time."""
        patterns = (*(state.fault.operation for state in self.faults), *self.awaited_names)
        return any(is_operation(pattern, group, name) for pattern in patterns)

    def decide(self, operation: Operation) -> Outcome | None:
        """The outcome of an operation, recorded; None if it succeeds."""
        if not self.active:
            return None
        if self.observes:
            self._observe("before", operation)
        outcome = first_fault(self.faults, operation, self.clock.elapsed(), self.stream)
        if outcome is not None:
            self.disturbed_at = max(self.disturbed_at, self.clock.now() + outcome.latency)
            self.recorder.record(
                Fault(
                    node=operation.node,
                    pod=operation.pod,
                    container=operation.container,
                    fault=f"{operation.text}: {outcome.text}",
                    why=outcome.why,
                )
            )
        return outcome

    def _observe(self, moment: str, operation: Operation) -> None:
        self.recorder.detail(
            OperationPassed(
                node=operation.node,
                pod=operation.pod,
                container=operation.container,
                operation=f"{operation.group}.{operation.name}",
                subject=operation.subject,
                moment=moment,
            )
        )

    async def intercept(self, operation: Operation, call: Awaitable[T]) -> T:
        """Run the call with its fault, if any."""
        until = self._hangs_until(operation)
        outcome = self.decide(operation)
        if outcome is None and not until:
            return await call
        try:
            if until:
                await self.clock.sleep_until(until)
            if outcome is None:
                return await call
            if outcome.latency:
                await self.clock.sleep(outcome.latency)
            if outcome.kind == "late":
                return await call
            if outcome.kind == "crash" and not ends_operation(outcome, operation):
                return await self._call_during_crash(operation, outcome, call)
            if outcome.fault.moment == "after":
                await call
            await self._fail_operation(operation, outcome)
        finally:
            self.disturbed_at = max(self.disturbed_at, self.clock.now())
            if isinstance(call, Coroutine):
                call.close()  # avoid the warning that it was never awaited

    async def _call_during_crash(self, operation: Operation, outcome: Outcome, call: Awaitable[T]) -> T:
        """The call of a caller that survives the crash of another component."""
        if outcome.fault.moment == "after":
            result = await call
            self.start_crash(operation, outcome)
            if operation.group == "api" and cuts_connection(outcome):
                raise ApiError(0, "", CONNECTION_LOST)
            return result
        self.start_crash(operation, outcome)
        await self.clock.sleep(INSTANT)
        return await call

    def _hangs_until(self, operation: Operation) -> int:
        """The time at which a hanging operation continues; 0 if it does not hang."""
        now = self.clock.now()
        self._hanging = [item for item in self._hanging if item[2] > now]
        found = [(hang, until) for hang, node, until in self._hanging if _hangs(hang, node, operation)]
        self._met |= {id(hang): True for hang, _ in found}
        return max((until for _, until in found), default=0)

    def was_unused(self, hang: Hang) -> bool:
        """Whether this hang has begun and met no operation."""
        return self._met.get(id(hang)) is False

    async def _fail_operation(self, operation: Operation, outcome: Outcome) -> NoReturn:
        if outcome.kind == "error":
            raise error_of(operation, outcome)
        if outcome.kind == "crash":
            self.start_crash(operation, outcome)
        elif operation.group == "api":
            await self.clock.sleep(LOST_CONNECTION)
            raise ApiError(0, "", CONNECTION_LOST)
        await Awaited(f"{operation.text}, which does not return")
        raise AssertionError("nobody wakes it")

    def start_crash(self, operation: Operation, outcome: Outcome) -> None:
        assert self.crash is not None
        assert outcome.fault.crash is not None
        self.tasks.start("crash", self.crash(operation.node, outcome.fault.crash))

    async def reached(self, moment: str, operation: Operation) -> None:
        """Run the steps that wait for this point of an operation; then the operation continues."""
        if self.passed(moment, operation):
            await self.clock.sleep(INSTANT)

    def passed(self, moment: str, operation: Operation) -> bool:
        """Start the steps of an operation that cannot wait. Returns whether there were any."""
        found = False
        if self.observes and self.active and moment == "after":
            self._observe(moment, operation)
        for awaited in self.awaited if self.active else ():
            if awaited.is_about(moment, operation):
                awaited.left -= 1
                if not awaited.left:
                    awaited.happens()
                    found = True
        return found


def _hangs(hang: Hang, node: str, operation: Operation) -> bool:
    return (
        is_operation(hang.call, operation.group, operation.name)
        and operation.node == node
        and (not hang.pod or matches_pod(hang.pod, operation.pod))
        and hang.container in ("", operation.container)
    )


def error_of(operation: Operation, outcome: Outcome) -> KubesimError:
    """The error that the operation returns to its caller."""
    text, code = outcome.fault.error or DEFAULT_ERROR, outcome.fault.code
    if operation.group == "api":
        return ApiError(code or 500, _REASONS.get(code or 500, ""), text)
    if operation.group == "cni":
        return PluginError(code or 999, text)
    return RuntimeCallError(text if text.startswith("rpc error:") else UNKNOWN_ERROR + text)


_REASONS = {
    403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError",
    503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip
