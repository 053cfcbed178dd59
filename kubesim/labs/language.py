"""What may stand in a lab's `lab.yaml`, as strict types.

A question has one way to look up its answer in the trace of the run:

- `time`: when something happens, or how long after something else; the answer is a duration;
- `count`: how often; a number;
- `order`: in which order; names with commas between them;
- `value`: what a field of a record says; text, often one of `choices`;
- `happens`: whether it happens at all; yes or no.

Moments are found with the conditions of `kubesim run --break-on`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.errors import UsageError
from kubesim.golang.regexp import BadExpression, compile_regexp
from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.language.strict import Strict, as_list, wrap
from kubesim.trace.stepping import RecordCondition

WAYS = ("time", "count", "order", "value", "happens")


def _condition(text: str) -> str:
    try:
        RecordCondition.parse(text)
    except UsageError as error:
        raise PydanticCustomError("condition", "{problem}", {"problem": str(error)}) from None
    return text


def _regular_expression(text: str) -> str:
    try:
        groups = compile_regexp(text, "go").groups
    except BadExpression as error:
        raise PydanticCustomError("pattern", "{problem}", {"problem": str(error)}) from None
    if groups != 1:
        raise PydanticCustomError("pattern", "a pattern has one group in parentheses: what is meant")
    return text


ConditionText = Annotated[str, AfterValidator(_condition)]


class Moment(Strict):
    """A record of the trace: the first one that a condition is about, or the n-th, or the n-th from the end (-1)."""

    on: ConditionText
    nth: int = 1
    after: Annotated[Moment, wrap("on")] | None = None  # count only what comes after this

    @model_validator(mode="after")
    def _counts_from_one(self) -> Moment:
        if self.nth == 0:
            raise PydanticCustomError("nth", "nth counts from 1, or from -1 at the end")
        return self


MomentOrText = Annotated[Moment, wrap("on")]


class TimeLookup(Strict):
    at: MomentOrText
    since: MomentOrText | None = None


class CountLookup(Strict):
    of: ConditionText
    after: MomentOrText | None = None
    before: MomentOrText | None = None


class ValueLookup(Strict):
    """`pattern`: a regular expression with one group, which is the part of the field's text that is meant."""

    at: MomentOrText
    field: str = Field(min_length=1)
    pattern: Annotated[str, AfterValidator(_regular_expression)] = ""


class WrongAnswer(Strict):
    """What many people answer, and what to tell them."""

    answer: str
    hint: str = Field(min_length=1)


class Question(Strict):
    """`predict`: asked before the run is seen, and compared with it; other questions must be answered rightly."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    ask: str = Field(min_length=1)
    predict: bool = False
    time: Annotated[TimeLookup, wrap("at")] | None = None
    count: Annotated[CountLookup, wrap("of")] | None = None
    order: dict[str, MomentOrText] | None = Field(default=None, min_length=2)
    value: ValueLookup | None = None
    happens: MomentOrText | None = None
    within: Duration = 500_000  # how far off a time may be
    choices: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    wrong: Annotated[tuple[WrongAnswer, ...], BeforeValidator(as_list)] = Field(min_length=1)
    hint: str = Field(min_length=1)
    rule: str = Field(min_length=1)

    @model_validator(mode="after")
    def _one_way(self) -> Question:
        if sum(getattr(self, way) is not None for way in WAYS) != 1:
            raise PydanticCustomError("question", "a question has one of {ways}", {"ways": ", ".join(WAYS)})
        return self

    @property
    def way(self) -> str:
        return next(way for way in WAYS if getattr(self, way) is not None)


class StopItem(Strict):
    """A stop of a walk through the run: where, and what to say there."""

    at: MomentOrText
    say: str = Field(min_length=1)
    title: str = ""


class Task(Strict):
    """Something to change in the scenario so that these expectations are met. `ask` says what."""

    ask: str = Field(min_length=1)
    expect: Annotated[tuple[Expect, ...], BeforeValidator(as_list)] = Field(min_length=1)


class LabFile(Strict):
    """The whole of `lab.yaml`."""

    title: str = Field(min_length=1)
    about: str = Field(min_length=1, max_length=70)
    belief: str = Field(min_length=1)
    questions: Annotated[tuple[Question, ...], BeforeValidator(as_list)] = Field(min_length=3, max_length=5)
    inside: Annotated[tuple[StopItem, ...], BeforeValidator(as_list)] = Field(min_length=1)
    task: Task | None = None

    @model_validator(mode="after")
    def _questions_fit(self) -> LabFile:
        ids = [question.id for question in self.questions]
        if len({*ids}) < len(ids):
            raise PydanticCustomError("questions", "two questions have the same id")
        if not self.questions[0].predict:
            raise PydanticCustomError("questions", "the first question is the prediction: give it predict: true")
        return self


class Solution(Strict):
    """`solution.yaml`: the answers by question."""

    answers: dict[str, str]


class WalkFile(Strict):
    """A walk that is no lab: stops in a run of a scenario."""

    title: str
    intro: str
    scenario: str
    stops: Annotated[tuple[StopItem, ...], BeforeValidator(as_list)] = Field(min_length=1)
