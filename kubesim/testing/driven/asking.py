"""Checks one expectation on a driven cluster, starting now: existing objects count as seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kubesim.clock import Awaited, wake
from kubesim.cluster.store.store import Listener, Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.scenario.ending.failure import Failure
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.play.expectations import Judge
from kubesim.testing.driven.driven_simulation import DrivenSimulation


class ExpectationFailed(AssertionError):
    """An expectation failed; `failure` has the parts of the message."""

    def __init__(self, failure: Failure) -> None:
        super().__init__("\n".join(failure.lines()))
        self.failure = failure


class _SeenFromTheStart:
    """The store for a judge created late: `replay` passes it all current and past objects."""

    def __init__(self, store: Store, gone: Iterable[WatchEvent]) -> None:
        self._store = store
        self._gone = gone
        self._listeners: list[tuple[str, Listener]] = []

    def watch(self, kind: str, listener: Listener) -> Callable[[], None]:
        self._listeners.append((kind, listener))
        return self._store.watch(kind, listener)

    def replay(self) -> None:
        for kind, listener in self._listeners:
            for change in self._gone:
                if change.object.kind == kind:
                    listener(change)
            for obj in self._store.list(kind):
                listener(WatchEvent("ADDED", obj, int(obj.metadata.resource_version or 0)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def ask(stage: DrivenSimulation, expect: Expect) -> None:
    """Advance time until the expectation is decided: at `by` (from now) at the latest, or immediately. Raises
    ExpectationFailed.
    """

    __tracebackhide__ = True  # pytest should show the line of the test

    async def judged() -> Failure | None:
        simulation = stage.simulation
        seen = _SeenFromTheStart(simulation.store, stage.gone.values())
        judge = Judge(simulation.clock, simulation.recorder, seen, [expect])  # type: ignore[arg-type]
        decided: Awaited[None] = Awaited("the decision about an expectation")
        judge.on_verdict = lambda: wake(decided, None)
        seen.replay()
        has_time = any(getattr(expect, form) is not None for form in ("at", "by", "between", "within"))
        if has_time and not (judge.met or judge.failures):
            await decided
        judge.close()
        return judge.failures[0] if judge.failures else None

    failure = stage.run(judged())
    if failure is not None:
        raise ExpectationFailed(stage.simulation.explained(failure))
