"""What a scenario expects: conditions about pods and other objects that must become true, or never."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.step_items import ObjectTarget
from kubesim.scenario.language.strict import as_list

QUESTIONS = ("phase", "condition", "event", "restart_count", "waiting", "gone", "field")
_ONLY_OF_PODS = ("phase", "restart_count", "waiting")
_GLOB = "*?["


class Expect(ObjectTarget):
    """A condition that must become true before `by`, or before the end of the run. `never: true` inverts it.

    `pod` may be a glob (`web-*`): the condition must become true for any pod that matches.
    """

    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None
    condition: str | None = Field(default=None, pattern=r"^[A-Za-z./-]+(=(True|False|Unknown))?$")
    event: str | None = None
    restart_count: int | None = Field(default=None, ge=0)
    waiting: str | None = None
    gone: Literal[True] | None = None
    field: str | None = Field(default=None, min_length=1)  # such as status.readyReplicas
    equals: Any = None  # for field: its value; 0, "" and false are also true of a field that is not set
    at_least: int | float | None = None  # for field
    container: str = ""  # for restartCount and waiting; any container if it is not given
    message: str = ""  # for event: a part of its text
    count: int = Field(default=1, ge=1)  # for event: how often at least
    by: Duration | None = None
    between: Annotated[tuple[Duration, Duration], BeforeValidator(as_list)] | None = None  # with never: in all of it
    never: bool = False

    @model_validator(mode="after")
    def _one_question(self) -> Expect:
        if sum(getattr(self, name) is not None for name in QUESTIONS) != 1:
            names = ", ".join(to_camel(name) for name in QUESTIONS)
            raise PydanticCustomError("expect", "an expectation asks for one of {names}", {"names": names})
        has_equals = "equals" in self.model_fields_set
        if (self.field is not None) != (has_equals or self.at_least is not None):
            raise PydanticCustomError("expect", "field needs equals or atLeast, and they need field")
        if self.between is not None:
            if not self.never or self.by is not None or self.event is not None:
                raise PydanticCustomError("expect", "between goes with never, and without by and event")
            if self.between[0] >= self.between[1]:
                raise PydanticCustomError("expect", "between ends before it begins")
        if has_equals and self.at_least is not None:
            raise PydanticCustomError("expect", "give equals or atLeast, not both")
        asked = next((name for name in _ONLY_OF_PODS if getattr(self, name) is not None), "")
        if asked and not self.pod:
            problem = "{name} is a question about a pod; use field for other objects"
            raise PydanticCustomError("expect", problem, {"name": to_camel(asked)})
        return self

    @property
    def is_glob(self) -> bool:
        return any(mark in self.key[1] for mark in _GLOB)
