"""The scenario language: what may stand in a document of kind Scenario, as strict types.

Unknown fields are errors. Durations are microseconds once they are read. `load.py` makes a `Scenario` from a file, and
`player.py` plays it.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from kubesim.errors import UnknownGate
from kubesim.features import FeatureGates
from kubesim.scenario.durations import Duration

API_VERSION = "kubesim.dev/v1alpha1"
PLANNED = ("sources", "faults", "invariants", "matrix")  # keys of the language that nothing plays yet

JsonObject = dict[str, Any]


class Strict(BaseModel):
    """Fields are spelled in camel case; one that does not exist is an error that names the nearest one that does."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_fields(cls, value: Any) -> Any:
        if isinstance(value, BaseModel):
            return value
        if not isinstance(value, dict):
            raise PydanticCustomError("not_an_object", "must be a mapping of fields")
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in value:
            if key not in known:
                raise _unknown(key, known)
        return value


def _unknown(key: str, known: list[str]) -> PydanticCustomError:
    if key in PLANNED:
        return PydanticCustomError("unknown_field", "is not supported yet", {"field": key})
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return PydanticCustomError("unknown_field", "unknown field; {hint}", {"field": key, "hint": hint})


def _as_list(value: Any) -> Any:
    """YAML makes lists, frozen models have tuples."""
    return tuple(value) if isinstance(value, list) else value


def _wrap(key: str) -> BeforeValidator:
    """A short form: a plain value stands for an object with only this field."""
    return BeforeValidator(lambda value: value if isinstance(value, dict | BaseModel) else {key: value})


class DurationDraw(Strict):
    """`5s`, `{min: 1s, max: 3s}` evenly, `{mean: 5s}` exponentially, `{choices: [1s, 1m]}`."""

    value: Duration | None = None
    min: Duration | None = None
    max: Duration | None = None
    mean: Duration | None = None
    choices: Annotated[tuple[Duration, ...], BeforeValidator(_as_list)] = ()

    @model_validator(mode="after")
    def _one_way(self) -> DurationDraw:
        ways = [self.value is not None, self.min is not None, self.mean is not None, bool(self.choices)]
        if sum(ways) != 1 or (self.min is None) != (self.max is None):
            raise PydanticCustomError("draw", "give a duration, min and max, mean, or choices")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise PydanticCustomError("draw", "min is greater than max")
        return self


class ExitCodeDraw(Strict):
    """`1`, or `{choices: [0, 0, 1]}`."""

    value: int | None = Field(default=None, ge=0, le=255)
    choices: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], BeforeValidator(_as_list)] = ()

    @model_validator(mode="after")
    def _one_way(self) -> ExitCodeDraw:
        if (self.value is None) == (not self.choices):
            raise PydanticCustomError("draw", "give an exit code, or choices")
        return self


DurationOrDraw = Annotated[DurationDraw, _wrap("value")]
ExitCodeOrDraw = Annotated[ExitCodeDraw, _wrap("value")]


class NodeItem(Strict):
    name: str = Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)
    labels: dict[str, str] = Field(default_factory=dict)
    taints: Annotated[tuple[JsonObject, ...], BeforeValidator(_as_list)] = ()
    capacity: dict[str, str | int | float] = Field(default_factory=dict)


class CrashLoopBackOff(Strict):
    max_container_restart_period: Duration | None = None


class KubeletConfiguration(Strict):
    """The fields of a KubeletConfiguration that change what is simulated, and `jitter`, which is ours."""

    jitter: bool = True
    max_pods: int = Field(default=110, ge=0)
    serialize_image_pulls: bool = True
    sync_frequency: Duration | None = None
    crash_loop_back_off: CrashLoopBackOff = CrashLoopBackOff()


class ImageItem(Strict):
    """How the registry and the node answer for an image; `name` is the whole reference or a glob."""

    name: str = Field(min_length=1)
    present: bool = False
    pull_time: DurationOrDraw | None = None
    errors: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
    missing: bool | str = False
    size: int = Field(default=4_261_550, ge=0)


class LogItem(Strict):
    text: str
    after: Duration = 0


class OnTerm(Strict):
    """What a container does about the TERM signal."""

    ignore: bool = False
    after: DurationOrDraw = DurationDraw(value=0)
    exit_code: int = Field(default=0, ge=0, le=255)


class BehaviourItem(Strict):
    """Instead of its command line: for which containers (globs), and what they do."""

    pod: str = "*"
    container: str = "*"
    image: str = "*"
    times: int | None = Field(default=None, ge=1)
    run_for: DurationOrDraw | None = None
    exit_code: ExitCodeOrDraw = ExitCodeDraw(value=0)
    oom_killed: bool = False
    ready_after: DurationOrDraw = DurationDraw(value=0)
    log: Annotated[tuple[Annotated[LogItem, _wrap("text")], ...], BeforeValidator(_as_list)] = ()
    termination_message: str = ""
    start_error: str = ""
    on_term: OnTerm = OnTerm()


class PodTarget(Strict):
    """`name`, or `namespace/name`."""

    pod: str = Field(min_length=1)

    @property
    def key(self) -> tuple[str, str]:
        namespace, slash, name = self.pod.rpartition("/")
        return (namespace if slash else "default"), name


class Patch(PodTarget):
    """The patch of a pod; a list is a JSON patch, an object a strategic merge patch unless `type` says otherwise."""

    patch: JsonObject | Annotated[tuple[JsonObject, ...], BeforeValidator(_as_list)]
    type: Literal["strategic", "merge", "json"] = "strategic"
    subresource: Literal["", "status", "resize", "ephemeralcontainers"] = ""

    @model_validator(mode="before")
    @classmethod
    def _type_of_a_list(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("patch"), list):
            return {"type": "json", **value}
        return value


class Delete(PodTarget):
    grace_period_seconds: int | None = Field(default=None, ge=0)


class Exec(PodTarget):
    container: str = ""
    command: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = Field(min_length=1)


class Kill(PodTarget):
    """The main process of a container is killed from outside, or the sandbox (its pause process)."""

    container: str = ""
    sandbox: bool = False
    signal: Literal["KILL", "TERM"] = "KILL"

    @model_validator(mode="after")
    def _one_target(self) -> Kill:
        if self.sandbox and self.container:
            raise PydanticCustomError("target", "give a container or sandbox: true, not both")
        return self


ACTIONS = ("apply", "patch", "delete", "exec", "kill")


class Step(Strict):
    """One thing done from outside, at a time after the start."""

    at: Duration
    apply: JsonObject | None = None
    patch: Patch | None = None
    delete: Delete | None = None
    exec: Exec | None = None
    kill: Kill | None = None

    @model_validator(mode="after")
    def _one_action(self) -> Step:
        given = [name for name in ACTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            raise PydanticCustomError("step", "a step does one of {names}", {"names": ", ".join(ACTIONS)})
        return self


QUESTIONS = ("phase", "condition", "event", "restart_count", "waiting", "gone")


class Expect(PodTarget):
    """Something that must come true: by a time, or else before the end. `never` turns it round."""

    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None
    condition: str | None = Field(default=None, pattern=r"^[A-Za-z./-]+(=(True|False|Unknown))?$")
    event: str | None = None
    restart_count: int | None = Field(default=None, ge=0)
    waiting: str | None = None
    gone: Literal[True] | None = None
    container: str = ""  # for restartCount and waiting; any container if it is not given
    message: str = ""  # for event: a part of its text
    count: int = Field(default=1, ge=1)  # for event: how often at least
    by: Duration | None = None
    never: bool = False

    @model_validator(mode="after")
    def _one_question(self) -> Expect:
        if sum(getattr(self, name) is not None for name in QUESTIONS) != 1:
            names = ", ".join(to_camel(name) for name in QUESTIONS)
            raise PydanticCustomError("expect", "an expectation asks for one of {names}", {"names": names})
        return self


class Spec(Strict):
    nodes: Annotated[tuple[NodeItem, ...], BeforeValidator(_as_list)] = Field(
        default=(NodeItem(name="node-1"),), min_length=1
    )
    runtime: Literal["simulated"] = "simulated"
    profile: Literal["v1.36"] = "v1.36"
    feature_gates: dict[str, bool] = Field(default_factory=dict)
    kubelet_configuration: KubeletConfiguration = KubeletConfiguration()
    images: Annotated[tuple[ImageItem, ...], BeforeValidator(_as_list)] = ()
    behaviours: Annotated[tuple[BehaviourItem, ...], BeforeValidator(_as_list)] = ()
    objects: Annotated[tuple[JsonObject, ...], BeforeValidator(_as_list)] = ()
    steps: Annotated[tuple[Step, ...], BeforeValidator(_as_list)] = ()
    expect: Annotated[tuple[Expect, ...], BeforeValidator(_as_list)] = ()
    seed: int = 0
    duration: Duration | None = None

    @field_validator("feature_gates")
    @classmethod
    def _known_gates(cls, value: dict[str, bool]) -> dict[str, bool]:
        try:
            FeatureGates(value)
        except UnknownGate as error:
            raise PydanticCustomError("gate", "{problem}", {"problem": str(error)}) from None
        return value

    @model_validator(mode="after")
    def _names_of_nodes(self) -> Spec:
        names = [node.name for node in self.nodes]
        if len({*names}) < len(names):
            raise PydanticCustomError("nodes", "two nodes have the same name")
        return self


class Metadata(Strict):
    name: str = Field(min_length=1)


class Scenario(Strict):
    """A whole scenario. Its objects are applied at time 0, in order."""

    api_version: Literal["kubesim.dev/v1alpha1"] = "kubesim.dev/v1alpha1"
    kind: Literal["Scenario"] = "Scenario"
    metadata: Metadata
    spec: Spec = Spec()

    @property
    def name(self) -> str:
        return self.metadata.name

    def with_objects(self, objects: tuple[JsonObject, ...]) -> Scenario:
        """The same with more objects, after its own."""
        spec = self.spec.model_copy(update={"objects": (*self.spec.objects, *objects)})
        return self.model_copy(update={"spec": spec})
