"""Faults injected in the stepper: the run restarts with the same seed and the added fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kubesim.errors import InputError, UsageError
from kubesim.trace.stepping import Stepper

if TYPE_CHECKING:
    from kubesim.scenario.load.assembly.added import AddedItem
    from kubesim.trace.records import Record

Play = Callable[[Sequence["AddedItem"]], Sequence["Record"]]


class ScenarioInjections:
    """Implements `trace.stepping.session.Injections`. `play` runs again with the added items."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._added: tuple[AddedItem, ...] = ()

    def add(self, text: str, t: int) -> Stepper:
        from kubesim.scenario.load.assembly.added import AddedItem

        return self._with((*self._added, AddedItem.parse(text, t)))

    def remove(self) -> Stepper:
        if not self._added:
            raise UsageError("nothing is injected; i injects a step or a fault")
        return self._with(self._added[:-1])

    def _with(self, added: tuple[AddedItem, ...]) -> Stepper:
        try:
            records = self._play(added)
        except InputError as error:
            field = (error.field or "").rpartition("].")[2]
            raise UsageError(f"{field}: {error.problem}" if field else error.problem) from None
        self._added = added
        return Stepper(records)
