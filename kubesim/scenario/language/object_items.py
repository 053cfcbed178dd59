"""The target of a step or an expectation, and its deletion, which also ends a run without steps."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.object_names import ObjectName, has_namespace
from kubesim.scenario.language.strict import Located


class ObjectTarget(Located):
    """A pod, or any object: `Deployment/web`, `Deployment/namespace/web`, `Node/node-1`."""

    pod: str = Field(default="", min_length=1)  # its name, or namespace and name: `pod: web`, `pod: shop/web`
    object: ObjectName = ""  # kind and name: `object: Deployment/web`, `object: Deployment/shop/web`

    @model_validator(mode="after")
    def _one_target(self) -> ObjectTarget:
        if bool(self.pod) == bool(self.object):
            raise PydanticCustomError("target", "give pod or object: Kind/name")
        return self

    @property
    def kind(self) -> str:
        return "Pod" if self.pod else self.object.partition("/")[0]

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name; the namespace of a cluster-scoped object is empty."""
        named = self.pod or self.object.partition("/")[2]
        namespace, slash, name = named.rpartition("/")
        if not has_namespace(self.kind):
            return "", name
        return (namespace if slash else "default"), name

    @property
    def text(self) -> str:
        return f"pod {self.pod}" if self.pod else self.object


class Delete(ObjectTarget):
    grace_period_seconds: int | None = Field(default=None, ge=0)
    propagation_policy: Literal["Background", "Foreground", "Orphan"] | None = None  # what becomes of its dependents
