"""An expectation that is not decided yet: its questions, and whether its period has begun."""

from __future__ import annotations

import asyncio

from kubesim.golang.text import duration
from kubesim.scenario.expecting.forms import Facts
from kubesim.scenario.expecting.watched import WatchedQuestion
from kubesim.scenario.expecting.words import describe, describe_moment, describe_of
from kubesim.scenario.language.expect_items import Expect, Occasion

_CREATED = ({"exists": True},)
_DELETED = (
    {"field": "metadata.deletionTimestamp", "matches": "."},
    {"gone": True},  # objects without a grace period are removed immediately
)


class OpenExpectation:
    """An undecided expectation. `opened` is when its period began; None: not yet."""

    def __init__(self, expect: Expect) -> None:
        self.expect = expect
        self.text = describe(expect)
        self.opened: int | None = None
        self.closes = expect.deadline  # the end of its period, if known
        self.timers: list[asyncio.TimerHandle] = []
        self.failed_late: int | None = None  # the index of its failure, while it may still become true
        self.order = [_watched(moment, expect) for moment in expect.order or ()]
        self.firsts: list[int | None] = [None for _ in self.order]  # when each of them became true
        self.main = None if self.order else WatchedQuestion(expect, expect, never=expect.never, always=expect.always)
        # The first of them to be true begins the period.
        self.origins = [_watched(moment, expect) for moment in _origins(expect)]

    @property
    def watched(self) -> list[WatchedQuestion]:
        return [*([self.main] if self.main is not None else ()), *self.order, *self.origins]

    def begin(self, now: int) -> None:
        self.opened = now
        if self.main is not None and now:
            self.main.begin()

    def has_origin(self) -> bool:
        """Whether the event has happened from which `within` counts."""
        return any(watched.facts.holds for watched in self.origins)

    def note_order(self, now: int) -> None:
        for number, watched in enumerate(self.order):
            if self.firsts[number] is None and watched.facts.holds:
                self.firsts[number] = now

    @property
    def facts(self) -> Facts:
        if self.main is not None:
            return self.main.facts
        known = [first for first in self.firsts if first is not None]
        return Facts(len(known) == len(self.firsts), self._seen_order(), broken=known != sorted(known))

    def _seen_order(self) -> str:
        moments = self.expect.order or ()
        happened = [
            f"{describe_moment(moment)}: {'never' if first is None else f'at {duration(round(first, -3))}'}"
            for first, moment in sorted(zip(self.firsts, moments, strict=True), key=_by_time)
        ]
        return ", ".join(happened)

    def why(self, when: str) -> str:
        """The observed value, and when it decided the expectation."""
        if self.expect.within is not None and self.opened is None:
            return f"{describe_of(self.expect)} was not seen {when}"
        return self.facts.seen if self.order else f"{self.facts.seen} {when}"


def _by_time(item: tuple[int | None, Occasion]) -> tuple[bool, int]:
    return item[0] is None, item[0] or 0


def _origins(expect: Expect) -> tuple[Occasion, ...]:
    if expect.within is None:
        return ()
    if isinstance(expect.of, Occasion):
        return (expect.of,)
    return tuple(map(Occasion.model_validate, _DELETED if expect.of == "delete" else _CREATED))


def _watched(moment: Occasion, expect: Expect) -> WatchedQuestion:
    return WatchedQuestion(moment, moment if moment.has_target else expect)
