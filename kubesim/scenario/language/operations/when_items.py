"""`when`: the condition that a step waits for, about an object of the cluster or an operation of a node."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.object_names import ObjectName, has_namespace
from kubesim.scenario.language.operations.names import OperationName
from kubesim.scenario.language.strict import Strict

QUESTIONS = ("condition", "phase", "event", "gone", "field", "exists")
_OF_OPERATIONS = ("node", "container")


class When(Strict):
    """`{pod: web, condition: Ready}`, `{after: CreateContainer, pod: web, container: main}`. It is met as soon as it is
    true once."""

    pod: str = Field(default="", min_length=1)  # `name`, `namespace/name` or a glob
    object: ObjectName = ""  # `Deployment/web`
    condition: str | None = Field(default=None, pattern=r"^[A-Za-z./-]+(=(True|False|Unknown))?$")  # `Ready=False`
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None  # of the pod: `Running`
    event: str | None = Field(default=None, min_length=1)  # the reason of an Event: `BackOff`
    exists: Literal[True] | None = None  # the object exists: `exists: true`
    gone: Literal[True] | None = None  # the object existed and was deleted: `gone: true`
    field: str | None = Field(default=None, min_length=1)  # `status.readyReplicas`, with equals or atLeast
    equals: Any = None  # for field, its value: `equals: 3`
    at_least: int | float | None = None  # for field: `atLeast: 2`
    after: OperationName = ""  # an operation that has succeeded, before its result is returned: `CreateContainer`
    before: OperationName = ""  # an operation that starts after the step: `StartContainer`
    node: str = ""  # for after and before: `node-1`
    container: str = ""  # for after and before: `main`
    count: int = Field(default=1, ge=1)  # for event, after and before: 3 waits for the third one

    @property
    def operation(self) -> str:
        return self.after or self.before

    @property
    def condition_and_status(self) -> tuple[str, str]:
        type, _, status = (self.condition or "").partition("=")
        return type, status or "True"

    @property
    def text(self) -> str:
        """The condition in words: `pod web is Ready`, `after CreateContainer of pod web, container main`."""
        if not self.operation:
            return f"{f'pod {self.pod}' if self.pod else self.object} {self._question}"
        given = {"pod": self.pod, "container": self.container, "node": self.node}
        about = ", ".join(f"{name} {value}" for name, value in given.items() if value)
        number = f" number {self.count}" if self.count > 1 else ""
        return f"{'after' if self.after else 'before'} {self.operation}{number}{f' of {about}' if about else ''}"

    @property
    def _question(self) -> str:
        if self.condition is not None:
            type, status = self.condition_and_status
            return f"is {type}" if status == "True" else f"has {type}={status}"
        if self.event is not None:
            return f"has Event {self.event}" + (f" {self.count} times" if self.count > 1 else "")
        if self.field is not None:
            wanted = f"at least {self.at_least}" if self.at_least is not None else f"is {json.dumps(self.equals)}"
            return f"has {self.field} {wanted}"
        return f"is {self.phase}" if self.phase is not None else "is gone" if self.gone else "exists"

    @property
    def kind(self) -> str:
        return "Pod" if self.pod else self.object.partition("/")[0]

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name; the namespace of a cluster-scoped object is empty."""
        namespace, slash, name = (self.pod or self.object.partition("/")[2]).rpartition("/")
        if not has_namespace(self.kind):
            return "", name
        return (namespace if slash else "default"), name

    @model_validator(mode="after")
    def _one_question(self) -> When:
        asked = [name for name in QUESTIONS if getattr(self, name) is not None]
        if self.operation:
            self._about_an_operation(asked)
        elif bool(self.pod) == bool(self.object):
            raise PydanticCustomError("when", "give pod or object: Kind/name, or after or before an operation")
        elif len(asked) != 1:
            names = ", ".join(map(to_camel, QUESTIONS))
            raise PydanticCustomError("when", "give one of {names}, after, before", {"names": names})
        elif self.phase is not None and not self.pod:
            raise PydanticCustomError("when", "phase is a question about a pod; use field for other objects")
        elif given := next(filter(lambda name: getattr(self, name), _OF_OPERATIONS), ""):
            raise PydanticCustomError("when", "{given} is for after and before", {"given": given})
        has_equals = "equals" in self.model_fields_set
        if (self.field is not None) != (has_equals or self.at_least is not None):
            raise PydanticCustomError("when", "field needs equals or atLeast, and they need field")
        if has_equals and self.at_least is not None:
            raise PydanticCustomError("when", "give equals or atLeast, not both")
        if self.count > 1 and not self.operation and self.event is None:
            raise PydanticCustomError("when", "count is for event, after and before")
        return self

    def _about_an_operation(self, asked: list[str]) -> None:
        if self.after and self.before:
            raise PydanticCustomError("when", "give after or before, not both")
        if asked or self.object:
            raise PydanticCustomError(
                "when", "after and before can be combined only with pod, container, node and count"
            )
