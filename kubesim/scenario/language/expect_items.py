"""Expectations in the scenario language: a question about an object, and when the answer must be true.

An expectation has a target (`pod`, `object`, `node`), one question (`phase`, `event`, ...), a form (`by`, `never`, ...)
and optionally a quantity (`count`, `equals`, ...). `scenario/expecting` evaluates it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from kubesim.scenario.expecting.quantities import Bounds, Pattern, TextPart
from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.object_items import ObjectTarget
from kubesim.scenario.language.object_names import has_namespace
from kubesim.scenario.language.strict import OnUse, as_list, wrap

BoundsOrNumber = Annotated[Bounds, wrap("equals")]
TextOrPart = Annotated[TextPart, wrap("contains")]
ExitCode = Annotated[int, Field(ge=0, le=255)]
PositiveDuration = Annotated[Duration, Field(gt=0)]

STATES = (
    "phase", "condition", "state", "waiting", "exit_code", "restart_count", "gone", "exists", "field", "ready",
    "endpoints",
)  # fmt: skip
OCCURRENCES = ("event", "log", "call")  # occurrences, which are counted
QUESTIONS = (*STATES, *OCCURRENCES)
_CONTAINER_STATES = ("state", "waiting", "exit_code")
OF_PODS = ("phase", "restart_count", *_CONTAINER_STATES, "log")
QUANTITIES = ("equals", "at_least", "at_most", "matches")
# The questions that a field refines; with other questions the field would be ignored.
BELONGS = {
    "container": ("restart_count", *_CONTAINER_STATES, *OCCURRENCES),
    "message": ("event", *_CONTAINER_STATES),
    "reason": ("state", "exit_code"),
    **dict.fromkeys(QUANTITIES, ("field",)),
}
_GLOB = "*?["


def is_glob(text: str) -> bool:
    return any(mark in text for mark in _GLOB)


def _pair(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise PydanticCustomError("between", "must be two durations: [10s, 20s]")
    return as_list(value)


class ObjectQuestion(ObjectTarget):
    """A question about an object. `pod` and the name of an `object` may be globs (`web-*`): one matching object is
    enough. A plain number is exact: `restartCount: 3` is not true of 4."""

    node: str = Field(default="", min_length=1)  # a node by its name: `{node: node-1, condition: Ready=False}`
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None  # of a pod: `phase: Running`
    # Its type, and its status unless that is True: `condition: Ready=False`
    condition: str | None = Field(default=None, pattern=r"^[A-Za-z0-9./-]+(=(True|False|Unknown))?$")
    state: Literal["waiting", "running", "terminated"] | None = None  # of a container now: `state: running`
    waiting: str | None = None  # the waiting reason of a container: `waiting: CrashLoopBackOff`
    exit_code: ExitCode | None = None  # of a container that ended, even if it runs again: `exitCode: 137`
    restart_count: BoundsOrNumber | None = None  # of a container: `restartCount: 3`, `restartCount: {atLeast: 3}`
    gone: Literal[True] | None = None  # the object is deleted: `gone: true`
    exists: Literal[True] | None = None  # the object exists: `{pod: web-3, exists: true, never: true}`
    field: str | None = Field(default=None, min_length=1)  # a path: `field: status.conditions[type=Ready].reason`
    ready: BoundsOrNumber | None = None  # replicas of a workload: `{object: Deployment/web, ready: 3}`
    endpoints: BoundsOrNumber | None = None  # ready ones of a Service: `{object: Service/web, endpoints: 2}`
    event: str | None = None  # the reason of an Event about the object: `event: Killing`
    log: TextOrPart | None = None  # a line that a container writes: `log: ready to serve`
    call: str | None = None  # to the runtime, a CNI plugin or the API server: `call: RunPodSandbox`, `call: cni ADD`
    container: str = Field(default="", min_length=1)  # that it is about; without it, any: `container: main`
    message: TextOrPart | None = None  # of an Event or a container's state: `message: connection refused`
    reason: str = Field(default="", min_length=1)  # of a container's state: `{state: terminated, reason: OOMKilled}`
    count: BoundsOrNumber | None = None  # how often it happened, or for how many objects it is true: `count: 2`
    # The value of `field`; 0, "" and false also match a field that is not set, null matches only that: `equals: 3`
    equals: Any = None
    at_least: int | float | None = None  # for `field`, a number: `atLeast: 3`
    at_most: int | float | None = None  # for `field`, a number: `atMost: 5`
    matches: Pattern | None = None  # for `field`, a regular expression: `matches: "^10[.]"`
    custom: bool = False  # names are not checked: for your own Events and conditions: `custom: true`

    @model_validator(mode="after")
    def _one_target(self) -> ObjectQuestion:
        targets = sum(map(bool, (self.pod, self.object, self.node)))
        if targets > 1 or (not targets and not self._needs_no_target()):
            raise PydanticCustomError("target", "give pod, node or object: Kind/name")
        return self

    def _needs_no_target(self) -> bool:
        return self.call is not None

    @property
    def asked(self) -> str:
        """The name of the question that is asked."""
        given = [name for name in QUESTIONS if getattr(self, name) is not None]
        if self.state is not None and self.exit_code is not None:
            given.remove("exit_code")
        return given[0] if len(given) == 1 else ""

    @model_validator(mode="after")
    def _one_question(self) -> ObjectQuestion:
        if not self._asks_otherwise():
            self._check_question()
        return self

    def _asks_otherwise(self) -> bool:
        return False

    def _check_question(self) -> None:
        asked = self.asked
        if not asked:
            names = ", ".join(to_camel(name) for name in QUESTIONS)
            raise PydanticCustomError("expect", "an expectation needs one of {names}", {"names": names})
        given = [name for name in QUANTITIES if name in self.model_fields_set]
        if self.field is not None and not given:
            raise PydanticCustomError("expect", "field needs equals, atLeast, atMost or matches")
        if self.field is not None and len(given) > 1 and given != ["at_least", "at_most"]:
            raise PydanticCustomError("expect", "set one of equals, matches, or atLeast and atMost")
        for name, questions in BELONGS.items():
            if name in self.model_fields_set and asked not in questions:
                belongs = ", ".join(map(to_camel, questions))
                problem = "{name} has no effect here: it belongs to {belongs}"
                raise PydanticCustomError("expect", problem, {"name": to_camel(name), "belongs": belongs})
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise PydanticCustomError("expect", "atLeast is greater than atMost")
        if self.state == "running" and (self.reason or self.message is not None):
            raise PydanticCustomError("expect", "a container in state running has no reason and no message")
        self._check_of_target(asked)

    def _check_of_target(self, asked: str) -> None:
        if self.kind and self.kind != "Pod" and asked in OF_PODS:
            problem = "{name} is a question about a pod; use field for other objects"
            raise PydanticCustomError("expect", problem, {"name": to_camel(asked)})
        if self.call is not None and self.kind not in ("", "Pod", "Node"):
            raise PydanticCustomError("expect", "a call is about a pod or a node, or has no target")
        if self.endpoints is not None and self.kind not in ("", "Service"):
            raise PydanticCustomError("expect", "endpoints is a question about a Service: object: Service/name")
        if self.exit_code is not None and self.state not in (None, "terminated"):
            raise PydanticCustomError("expect", "only a container in state terminated has an exit code")
        if self.count is not None and asked not in OCCURRENCES and self.kind and not self.is_glob:
            problem = "count has no effect on {name} of one object: give a glob (web-*), or use event, log or call"
            raise PydanticCustomError("expect", problem, {"name": to_camel(asked)})

    @property
    def number(self) -> Bounds | None:
        """The bounds of the number in question."""
        return next((each for each in (self.count, self.restart_count, self.ready, self.endpoints) if each), None)

    def asks(self, outer: ObjectQuestion) -> tuple[str, tuple[str, str], dict[str, Any]]:
        """The kind, the key and the question; the target defaults to that of the enclosing question."""
        target = self if self.has_target else outer
        question = self.model_dump(include={*ObjectQuestion.model_fields} - {"pod", "object", "node"})
        return target.kind, target.key, question

    # -- the target ---------------------------------------------------------------------------------------------

    @property
    def has_target(self) -> bool:
        return bool(self.pod or self.object or self.node)

    @property
    def kind(self) -> str:
        """The kind of the target; empty if there is none."""
        if self.node:
            return "Node"
        return "Pod" if self.pod else self.object.partition("/")[0]

    @property
    def key(self) -> tuple[str, str]:
        named = self.node or self.pod or self.object.partition("/")[2]
        namespace, slash, name = named.rpartition("/")
        if not has_namespace(self.kind):
            return "", name
        return (namespace if slash else "default"), name

    @property
    def is_glob(self) -> bool:
        return is_glob(self.key[1])

    @property
    def text(self) -> str:
        if self.node:
            return f"node {self.node}"
        return f"pod {self.pod}" if self.pod else self.object


class Occasion(ObjectQuestion):
    """A question without a form. Without a target, it uses the target of the expectation that contains it."""

    @model_validator(mode="after")
    def _one_target(self) -> Occasion:
        if sum(map(bool, (self.pod, self.object, self.node))) > 1:
            raise PydanticCustomError("target", "give one of pod, node and object")
        return self

    @model_validator(mode="after")
    def _not_true_at_once(self) -> Occasion:
        if self.number is not None and not self.number.lowest:
            raise PydanticCustomError("bounds", "0 is true before anything happens: give 1 or more")
        return self


class Expect(ObjectQuestion):
    """A condition that must become true before the end of the run: `{pod: web, phase: Running, by: 20s}`.

    - To check at another time, add one of `at`, `by`, `between`, `within`, and one of `never` and `always`. `never` and
      `always` fail if their object or container never existed.
    - A number is exact (`restartCount: 3`, `count: 3`). For restarts and counts (`event`, `log`, `call`),
      the number must be exact at `by`, or at the end of the run. The expectation fails as soon as the number is higher.
      `{atLeast: 3}` is met as soon as there are three. With `never`, the number must never be reached.
    - What is true before anything happens (`endpoints: 0`, `field: status.active, equals: 0`) must be true at `by`, or
      at the end of the run; `eventually: true` is met at any time.
    - `between` and `within` count from the beginning of their period.
    - Names that Kubernetes or the file does not know are errors; `custom: true` allows them.
    """

    # These become true in this order, each counted from its first time: `order: [{event: Pulled}, {phase: Running}]`
    order: Annotated[tuple[OnUse[Occasion], ...], BeforeValidator(as_list)] | None = Field(default=None, min_length=2)
    at: Duration | None = None  # it is true at this time: `at: 30s`
    by: PositiveDuration | None = None  # it becomes true by then; with never and always: until then: `by: 20s`
    # It becomes true in this time, and not before; with never and always: in all of it: `between: [10s, 20s]`
    between: Annotated[tuple[Duration, Duration], BeforeValidator(_pair)] | None = None
    within: PositiveDuration | None = None  # it becomes true within this time after `of`: `{within: 20s, of: create}`
    # For `within`: the creation of the object (the default), its deletion, or another event: `of: {event: Killing}`
    of: Literal["create", "delete"] | OnUse[Occasion] | None = None
    always: bool = False  # it is true whenever the object exists, in all of `between`: `always: true`
    never: bool = False  # it is never true while the object exists: `never: true`
    eventually: Literal[True] | None = None  # it becomes true at some time, as without a form: `eventually: true`

    @model_validator(mode="after")
    def _one_form(self) -> Expect:
        windows = [name for name in ("at", "by", "between", "within") if getattr(self, name) is not None]
        if len(windows) > 1:
            raise PydanticCustomError("form", "give one of at, by, between and within")
        if sum((self.always, self.never, self.eventually is not None)) > 1:
            raise PydanticCustomError("form", "give one of always, never and eventually")
        if self.at is not None and (self.always or self.eventually):
            raise PydanticCustomError("form", "at is one time: always and eventually have no effect with it")
        if self.of is not None and self.within is None:
            raise PydanticCustomError("form", "of has no effect without within: within: 20s, of: create")
        if isinstance(self.of, Occasion) and self.asks(self) == self.of.asks(self):
            raise PydanticCustomError("form", "of is the same question, so it would be true within any time")
        if self.always and self.exists and self.between is None:
            raise PydanticCustomError("form", "an existing object always exists: give between, or gone: true and never")
        if self.between is not None and self.between[0] >= self.between[1]:
            raise PydanticCustomError("form", "between ends before it begins")
        if self.always and self.asked in OCCURRENCES:
            problem = "{name} is an occurrence and cannot always be true: give count, or never"
            raise PydanticCustomError("form", problem, {"name": to_camel(self.asked)})
        for number in (self.restart_count, self.count) if self.never else ():
            if number is not None and not number.lowest:
                raise PydanticCustomError("form", "never needs a number that is not reached: 1 or more, or atLeast")
        asked = [moment.asks(self) for moment in self.order or ()]
        if any(each in asked[:number] for number, each in enumerate(asked)):
            raise PydanticCustomError("form", "order has the same question twice: give the second one a count")
        if self.order is not None and (self.at is not None or self.between is not None or self.always or self.never):
            raise PydanticCustomError("form", "order can be combined only with by and within")
        return self

    def _asks_otherwise(self) -> bool:
        if self.order is None:
            return False
        given = [to_camel(name) for name in (*QUESTIONS, *BELONGS, "count") if name in self.model_fields_set]
        if given:
            raise PydanticCustomError("expect", "{name} cannot be combined with order", {"name": given[0]})
        if not self.has_target and not all(moment.has_target for moment in self.order):
            raise PydanticCustomError("target", "give pod, node or object: Kind/name")
        return True

    def _needs_no_target(self) -> bool:
        return self.order is not None or super()._needs_no_target()

    @property
    def questions(self) -> tuple[ObjectQuestion, ...]:
        """The questions of the expectation."""
        own: tuple[ObjectQuestion, ...] = self.order if self.order is not None else (self,)
        return (*own, self.of) if isinstance(self.of, Occasion) else own

    @property
    def is_true_at_first(self) -> bool:
        """Whether the condition is already true at the start of the run, as for a count of 0."""
        if (
            self.at is not None
            or self.between is not None
            or (self.within is not None and self.of not in (None, "create"))
        ):
            return False
        if self.field is not None:
            return "equals" in self.model_fields_set and not self.equals
        return self.number is not None and not self.number.lowest

    @property
    def needs_trace(self) -> bool:
        """Whether the answer needs the trace."""
        return any(each.log is not None or each.call is not None for each in self.questions)

    @property
    def deadline(self) -> int | None:
        """The latest end of the period, after the start of the run; None if it depends on the run."""
        return self.between[1] if self.between is not None else self.at if self.at is not None else self.by
