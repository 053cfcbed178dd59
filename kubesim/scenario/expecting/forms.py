"""Decides an expectation: at each moment, at the end of its period, and at the end of the run.

A form is a small automaton: it waits for its period to begin (`between`, `within`), evaluates every moment of the
period, and is decided by one of them or at the end of the period. All of it is pure; `play/expectations.py` has the
clock.
"""

from __future__ import annotations

from kubesim.scenario.language.expect_items import OCCURRENCES, Expect
from kubesim.values import value_object


@value_object
class Facts:
    """The known facts about a question at one moment."""

    holds: bool  # the answer is true
    seen: str  # the observed value in words
    everywhere: bool = True  # the answer is true of every existing object
    reached: bool = False  # with `never`: the state or the number that must not be reached was observed
    broken: bool = False  # the answer cannot become true any more: a number is exceeded, or the order is wrong
    there: bool = True  # an object exists now ...
    existed: bool = True  # ... or existed during the period
    known: bool = True  # the part in question, such as a container, existed during the period


def is_judged_last(expect: Expect) -> bool:
    """Whether only the end of the period decides: a count passes 3 on its way to 5, and begins at 0."""
    if expect.never:
        return False
    number = expect.number
    if expect.asked in ("restart_count", *OCCURRENCES) and number is not None and number.highest is not None:
        return not expect.always or not number.lowest
    return expect.is_true_at_first and not expect.always and not expect.eventually


def comes_early(expect: Expect, facts: Facts) -> bool:
    """Whether the condition is true before its period begins, although it must become true during the period."""
    waits = expect.between is not None and not expect.never and not expect.always
    return waits and facts.holds and expect.asked not in OCCURRENCES


def at_moment(expect: Expect, facts: Facts) -> bool | None:
    """The decision at a moment of the period: met, failed, or None if it is still open."""
    if facts.broken:
        return False
    if expect.at is not None or is_judged_last(expect):
        return None
    if expect.never:
        return False if facts.reached else None
    if expect.always:
        fails = (facts.there and not facts.everywhere) or (expect.between is not None and not facts.there)
        return False if fails else None
    return True if facts.holds else None


def when_over(expect: Expect, facts: Facts) -> bool:
    """Whether the expectation is met at the end of its period, if no moment has decided it."""
    if expect.never and expect.exists:
        return expect.at is None or not facts.there
    if expect.never:
        return facts.existed and facts.known and not (expect.at is not None and facts.reached)
    if expect.always:
        return facts.existed
    return facts.holds and (expect.at is not None or is_judged_last(expect))
