"""The fields of a lab's `lab.yaml`, as strict types.

A question has one way to look up its answer in the trace of the run:

- `time`: when something happens, or how long after something else; the answer is a duration;
- `count`: how often; a number;
- `order`: in which order; names in a list;
- `value`: the value of a record's field; text, often one of `choices`;
- `values`: the values of a field in several records, in any order; a list;
- `happens`: whether it happens at all; yes or no.

Conditions are those of `kubesim run --break-on`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.errors import UsageError
from kubesim.features.table import PROFILES
from kubesim.golang.regexp import BadExpression, compile_regexp
from kubesim.labs.waits import wait
from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.language.strict import Strict, as_list, wrap
from kubesim.trace.stepping import RecordCondition

ANSWER_KINDS = ("time", "count", "order", "value", "values", "happens")


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
        raise PydanticCustomError("pattern", "a pattern needs one group in parentheses: the part to compare")
    return text


def _wait(text: str) -> str:
    try:
        wait(text)
    except ValueError as error:
        raise PydanticCustomError("wait", "{problem}", {"problem": str(error)}) from None
    return text


def _profile(text: str) -> str:
    if text and text not in PROFILES:
        known = {"known": ", ".join(PROFILES)}
        raise PydanticCustomError("profile", "must be one of {known}", known)
    return text


def _link(text: str) -> str:
    if not text.startswith("https://"):
        raise PydanticCustomError("link", "a link begins with https://")
    return text


ConditionText = Annotated[str, AfterValidator(_condition)]
# A wait of the kubelet (`kubesim.labs.waits`), or a duration.
WaitText = Annotated[str, AfterValidator(_wait)]


class Moment(Strict):
    """A record of the trace: the first one that matches a condition, or the n-th, or the n-th from the end (-1)."""

    on: ConditionText  # a condition, as in `kubesim run --break-on`
    nth: int = 1  # the first, the second, ...; -1 is the last
    after: Annotated[Moment, wrap("on")] | None = None  # count only the records after this one

    @model_validator(mode="after")
    def _counts_from_one(self) -> Moment:
        if self.nth == 0:
            raise PydanticCustomError("nth", "nth counts from 1, or from -1 at the end")
        return self


MomentOrText = Annotated[Moment, wrap("on")]


class TimeLookup(Strict):
    """The time of a record, since the start of the run or since another record."""

    at: MomentOrText  # the record
    since: MomentOrText | None = None  # the record from which the time counts; default: the start of the run


class PeriodicCount(Strict):
    """Something that happens once every period, at a phase that depends on the seed: `{during: 12s, period: 5s}`."""

    during: Duration  # the whole time
    period: Duration = Field(gt=0)  # the time between two of them


class CountLookup(Strict):
    """The number of records that match a condition, of all or of those between two records."""

    of: ConditionText  # a condition, as in `kubesim run --break-on`
    after: MomentOrText | None = None  # count after this record
    before: MomentOrText | None = None  # count before this record


class ValueLookup(Strict):
    """The value of a field. `pattern` is a regular expression with one group: the part of the text to compare."""

    at: MomentOrText  # the record
    field: str = Field(min_length=1)  # the field, with dots for fields inside: `summary.phase`
    pattern: Annotated[str, AfterValidator(_regular_expression)] = ""


class ValuesLookup(Strict):
    """The values of a field in all records that match a condition, each once."""

    of: ConditionText  # a condition, as in `kubesim run --break-on`
    field: str = Field(min_length=1)  # the field, with dots for fields inside: `summary.phase`
    after: MomentOrText | None = None  # only records after this one
    before: MomentOrText | None = None  # only records before this one


class WrongAnswer(Strict):
    """A common wrong answer, and the hint for it. Given exactly, it is wrong although the rule's range includes it."""

    answer: str  # as a learner would write it
    hint: str = Field(min_length=1)  # shown for this answer, without revealing the right one


class Question(Strict):
    """`predict`: a question before the learner sees the run. Any prediction is accepted and compared with the run;
    every other question stays open until its answer is right."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")  # the key of the answer in `solution.yaml`
    ask: str = Field(min_length=1)  # the question
    predict: bool = False
    time: Annotated[TimeLookup, wrap("at")] | None = None  # when: the answer is a duration
    count: Annotated[CountLookup, wrap("of")] | None = None  # how often: the answer is a number
    # the order: the answer is a list of these names
    order: dict[str, MomentOrText] | None = Field(default=None, min_length=2)
    value: ValueLookup | None = None  # a value: the answer is a text, or one of `choices`
    # several values: the answer is a list in any order, of `choices` if there are any
    values: ValuesLookup | None = None
    happens: MomentOrText | None = None  # whether it happens: the answer is yes or no
    # for a time: the waits it consists of; their sum is the range that every seed stays in
    waits: Annotated[tuple[WaitText, ...], BeforeValidator(as_list)] = ()
    periodic: PeriodicCount | None = None  # for a count: the range that every seed stays in
    within: Duration = 500_000  # accepted difference of a time from the run, or from the range
    choices: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()  # shown with letters
    # other words for an answer: `{"no": [it keeps running]}`
    accept: dict[str, Annotated[tuple[str, ...], BeforeValidator(as_list)]] = Field(default_factory=dict)
    instead: MomentOrText | None = None  # the record that shows why an action does not happen, or is not repeated
    profile: Annotated[str, AfterValidator(_profile)] = ""  # use a run of the scenario with this kubelet version
    kubectl: str = ""  # shown with the answer, instead of the lab's
    wrong: Annotated[tuple[WrongAnswer, ...], BeforeValidator(as_list)] = Field(min_length=1)
    hint: str = Field(min_length=1)  # the first of three hints; the second names the records, the third the answer
    rule: str = Field(min_length=1)  # shown with the right answer

    @model_validator(mode="after")
    def _one_answer_kind(self) -> Question:
        if sum(getattr(self, answer_kind) is not None for answer_kind in ANSWER_KINDS) != 1:
            raise PydanticCustomError("question", "a question has one of {ways}", {"ways": ", ".join(ANSWER_KINDS)})
        if self.waits and self.time is None:
            raise PydanticCustomError("question", "waits are for a question about a time")
        if self.periodic is not None and self.count is None:
            raise PydanticCustomError("question", "periodic is for a question about a count")
        return self

    @property
    def answer_kind(self) -> str:
        return next(answer_kind for answer_kind in ANSWER_KINDS if getattr(self, answer_kind) is not None)


class StopItem(Strict):
    """A stop of a walk through the run: the record, and the text for it."""

    at: MomentOrText  # the record
    say: str = Field(min_length=1)  # the text
    title: str = ""  # default: the record in one line


class Task(Strict):
    """A change to make in the scenario. It is done when these expectations are met. The third hint, after the two
    `hints`, is the solution."""

    ask: str = Field(min_length=1)  # what to change
    expect: Annotated[tuple[Expect, ...], BeforeValidator(as_list)] = Field(min_length=1)  # true of the changed run
    # an idea, and the field to change
    hints: Annotated[tuple[str, ...], BeforeValidator(as_list)] = Field(min_length=2, max_length=2)


class LabFile(Strict):
    """The whole of `lab.yaml`."""

    title: str = Field(min_length=1)  # also the title of `text.md`
    about: str = Field(min_length=1, max_length=70)  # a few words for `kubesim lab list`
    belief: str = Field(min_length=1)  # a common wrong belief, quoted in `text.md`
    minutes: int = Field(ge=1)  # how long a learner needs
    level: Literal["beginner", "intermediate", "advanced"]  # the knowledge that the lab assumes
    terms: dict[str, str] = Field(min_length=1)  # word: what it means
    # pages to read, from https://kubernetes.io where there is one
    links: Annotated[tuple[Annotated[str, AfterValidator(_link)], ...], BeforeValidator(as_list)] = Field(min_length=1)
    kubectl: str = "get pods"  # a `kubectl get` command, whose output is shown with each answer
    # three to five; the first one is the prediction
    questions: Annotated[tuple[Question, ...], BeforeValidator(as_list)] = Field(min_length=3, max_length=5)
    # the walk of `kubesim lab inside`
    inside: Annotated[tuple[StopItem, ...], BeforeValidator(as_list)] = Field(min_length=1)
    task: Task | None = None  # a change to make, after the questions
    experiment: str = Field(min_length=1)  # one thing to try freely

    @model_validator(mode="after")
    def _questions_fit(self) -> LabFile:
        ids = [question.id for question in self.questions]
        if len({*ids}) < len(ids):
            raise PydanticCustomError("questions", "two questions have the same id")
        if not self.questions[0].predict:
            raise PydanticCustomError("questions", "the first question is the prediction: give it predict: true")
        return self


class Solution(Strict):
    """`solution.yaml`: one right answer for each question, by its id."""

    answers: dict[str, str]  # question: answer


class WalkFile(Strict):
    """A walk without questions: stops in the run of a scenario."""

    title: str
    intro: str
    scenario: str
    stops: Annotated[tuple[StopItem, ...], BeforeValidator(as_list)] = Field(min_length=1)
