"""Expectations as sentences: `pod web must have phase Running by 20s`."""

from __future__ import annotations

from pydantic.alias_generators import to_camel

from kubesim.golang.text import duration
from kubesim.scenario.expecting.answers import counted
from kubesim.scenario.expecting.asking import wanted_condition
from kubesim.scenario.expecting.fields import shown
from kubesim.scenario.language.expect_items import OCCURRENCES, Expect, ObjectQuestion, Occasion


def describe(expect: Expect) -> str:
    """An expectation in words: its object, its condition and its time."""
    what = _order(expect.order) if expect.order is not None else describe_question(expect)
    container = f", container {expect.container}" if expect.container else ""
    target = f"{expect.text}{container} " if expect.has_target else ""
    quantifier = "never " if expect.never else "always " if expect.always else ""
    return f"{target}must {quantifier}{_verb(expect)}{what}{_time(expect)}"


def _verb(expect: Expect) -> str:
    """The verb that introduces the question in a sentence."""
    asked = "" if expect.order is not None else expect.asked
    if asked in ("state", "exit_code", "waiting", "gone"):
        return "be "
    return "" if asked == "exists" else "have "


def _order(moments: tuple[Occasion, ...]) -> str:
    return "these in order: " + ", ".join(describe_moment(moment) for moment in moments)


def describe_moment(moment: Occasion) -> str:
    own = f"{moment.text} " if moment.has_target else ""
    container = f" of container {moment.container}" if moment.container else ""
    return own + describe_question(moment) + container


def describe_question(question: ObjectQuestion) -> str:
    asked = question.asked
    what = _what(question, asked)
    what += f" with {question.message.text}" if question.message is not None else ""
    if question.count is not None and asked in OCCURRENCES:
        what += " once" if question.count.text == "1" else f" {question.count.text} times"
    elif question.count is not None:
        what += f" of {question.count.text} objects"
    return what


def _what(question: ObjectQuestion, asked: str) -> str:
    if asked == "condition":
        return "condition {} {}".format(*wanted_condition(question))
    if asked == "waiting":
        return f"waiting ({question.waiting})"
    if asked in ("state", "exit_code"):
        code = "" if question.exit_code is None else f" with exit code {question.exit_code}"
        reason = f" ({question.reason})" if question.reason else ""
        return f"{question.state or 'terminated'}{code}{reason}"
    if question.restart_count is not None:
        return counted(question.restart_count.text, "restart")
    if question.ready is not None:
        return f"{question.ready.text} ready"
    if question.endpoints is not None:
        return counted(question.endpoints.text, "ready endpoint")
    if asked == "field":
        return f"{question.field} {_wanted(question)}"
    if question.log is not None:
        return f"a log line with {question.log.text}"
    if asked == "event":
        return f"Event {question.event}"
    return {"gone": "gone", "exists": "exist"}.get(asked) or f"{to_camel(asked)} {getattr(question, asked)}"


def _wanted(question: ObjectQuestion) -> str:
    if question.matches is not None:
        return f"matching {question.matches!r}"
    if question.at_least is not None:
        more = "" if question.at_most is None else f" and at most {question.at_most}"
        return f"of at least {question.at_least}{more}"
    return f"of at most {question.at_most}" if question.at_most is not None else f"equal to {shown(question.equals)}"


def _time(expect: Expect) -> str:
    if expect.between is not None:
        return f" between {duration(expect.between[0])} and {duration(expect.between[1])}"
    if expect.within is not None:
        return f" within {duration(expect.within)} of {describe_of(expect)}"
    if expect.at is not None:
        return f" at {duration(expect.at)}"
    return "" if expect.by is None else f" by {duration(expect.by)}"


def describe_of(expect: Expect) -> str:
    """The starting point of `within`, in words."""
    of = expect.of or "create"
    return {"create": "its creation", "delete": "its deletion"}[of] if isinstance(of, str) else describe_moment(of)
