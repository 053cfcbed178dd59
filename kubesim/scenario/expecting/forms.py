"""When an expectation is met: a decision for each moment, for the end of its time and for the end of the run.

A form is a small automaton: it waits for its time (`between`, `within`), watches every moment of it, and is decided
when a moment decides it or when the time is up. All of it is pure; `play/expectations.py` has the clock.
"""

from __future__ import annotations

from kubesim.scenario.language.expect_items import OCCURRENCES, Expect
from kubesim.values import value_object


@value_object
class Facts:
    """What is known about a question at a moment."""

    holds: bool  # it is true
    seen: str  # in words
    everywhere: bool = True  # it is true of every object that exists
    reached: bool = False  # with `never`: the number that must not be reached, or the state, was observed
    broken: bool = False  # it cannot become true any more: a number is exceeded, the order is another
    there: bool = True  # an object is there now ...
    existed: bool = True  # ... or was there in its time
    known: bool = True  # the thing that is asked about was there in its time, such as a container


def is_judged_last(expect: Expect) -> bool:
    """Whether only the end of its time decides: exactly 3 restarts are passed on the way to 5, and 0 comes first."""
    if expect.never:
        return False
    number = expect.number
    if expect.asked in ("restart_count", *OCCURRENCES) and number is not None and number.highest is not None:
        return not expect.always or not number.lowest
    return expect.is_true_at_first and not expect.always and not expect.eventually


def comes_early(expect: Expect, facts: Facts) -> bool:
    """Whether it is true before its time begins, although it must become true in it."""
    waits = expect.between is not None and not expect.never and not expect.always
    return waits and facts.holds and expect.asked not in OCCURRENCES


def at_moment(expect: Expect, facts: Facts) -> bool | None:
    """Whether a moment in its time decides: met, failed, or None."""
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
    """Whether it is met when its time is up, and no moment has decided."""
    if expect.never and expect.exists:
        return expect.at is None or not facts.there
    if expect.never:
        return facts.existed and facts.known and not (expect.at is not None and facts.reached)
    if expect.always:
        return facts.existed
    return facts.holds and (expect.at is not None or is_judged_last(expect))
