"""Faults of a scenario: operations of the runtime, network, images, volumes, API server or disk that fail."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.operations.names import OperationName, matching
from kubesim.scenario.language.strict import Located, Strict, as_list, wrap
from kubesim.scenario.language.variation.draw_items import DurationOrDraw

Result = Literal["ok", "late", "error", "hang", "crash", "torn"]
_NEEDED = "give error, hang, crash, torn or latency, or results"
_SYNCHRONOUS = ("disk",)


class Crash(Strict):
    """A component crashes during the operation and starts again."""

    # `crash: kubelet` is short for `crash: {what: kubelet}`. The API server crashes for all nodes; `connection` is that
    # of this node to the API server.
    what: Literal["kubelet", "runtime", "node", "apiserver", "connection"]
    down_for: Duration = Field(default=10_000_000, ge=0)  # systemd restarts a kubelet after 10 s


class FaultItem(Located):
    """A fault of all operations that match its globs. The first fault of the list that applies wins."""

    operation: OperationName  # `CreateContainer`, `api.*`; the group is one of runtime, image, cni, volume, api, disk
    node: str = "*"  # a glob
    pod: str = "*"  # a glob of `name` or `namespace/name`
    container: str = "*"  # a glob
    subject: str = "*"  # a glob of the image, volume, network plugin, file or object that the operation is about
    error: str = Field(default="", min_length=1)  # the operation fails with this text
    code: int | None = Field(default=None, ge=1, le=999)  # of the error: an HTTP status (500), or a plugin's code (999)
    hang: bool = False  # the operation never returns, so the caller waits until its timeout
    crash: Annotated[Crash, wrap("what")] | None = None  # crashes the kubelet, the runtime or the node
    torn: bool = False  # only the first half of a file is written; `crash: node` may be beside it
    latency: DurationOrDraw | None = None  # the additional time of the operation
    moment: Literal["before", "after"] = "before"  # error, hang and crash: before or after the operation takes effect
    nth: int = Field(default=1, ge=1)  # the first operation that it affects: 3 lets the first two succeed
    times: int | None = Field(default=None, ge=1)  # how often it happens; default: always
    # Outcomes of successive operations; later ones succeed.
    results: Annotated[tuple[Result, ...], BeforeValidator(as_list)] = ()
    probability: float = Field(default=1.0, gt=0, le=1)  # drawn from the seed
    begin: Duration = Field(default=0, ge=0)  # from this time on
    end: Duration | None = Field(default=None, ge=0)  # until this time

    @property
    def kinds(self) -> list[Result]:
        """The kinds of faults that are set besides `results`."""
        given: list[tuple[Result, bool]] = [
            ("error", bool(self.error)), ("hang", self.hang), ("crash", self.crash is not None), ("torn", self.torn),
        ]  # fmt: skip
        return [name for name, is_given in given if is_given]

    @property
    def is_power_failure(self) -> bool:
        """Whether the node crashes while a file is written, so that a part of it is lost."""
        has_both = self.torn and self.crash is not None and self.crash.what == "node"
        return has_both and not (self.error or self.hang or self.results or self.latency)

    @model_validator(mode="after")
    def _one_fault(self) -> FaultItem:
        if not self.results and not self.kinds and self.latency is None:
            raise PydanticCustomError("fault", _NEEDED)
        if self.is_power_failure:
            return self
        if not self.results and len(self.kinds) > 1:
            problem = f"{' and '.join(self.kinds)} exclude each other; results: [{', '.join(self.kinds)}] takes turns"
            raise PydanticCustomError("fault", "{problem}", {"problem": problem})
        if self.results and self.times is not None:
            raise PydanticCustomError("fault", "give times or results, not both")
        if self.results and not {*self.results} - {"ok"}:
            raise PydanticCustomError("fault", "results has only ok: no operation fails")
        if "crash" in self.results and self.crash is None:
            raise PydanticCustomError("fault", "results has crash: name the component, such as crash: kubelet")
        if self.latency is not None and (self.latency.value == 0 or self.kinds == ["hang"]):
            why = "a hanging call never returns" if self.hang else "0s is no delay"
            raise PydanticCustomError("fault", "latency has no effect: {why}", {"why": why})
        if "late" in self.results and self.latency is None:
            raise PydanticCustomError("fault", "results has late: give the latency")
        if self.end is not None and self.end <= self.begin:
            raise PydanticCustomError("fault", "end must be after begin")
        return self

    @model_validator(mode="after")
    def _fits_the_operation(self) -> FaultItem:
        groups = {group for group, _ in matching(self.operation)}
        used = {*self.kinds, *self.results}
        if "torn" in used and groups != {"disk"}:
            raise PydanticCustomError("fault", "torn is for operations of the disk: disk.WriteStaticPod")
        if self.moment == "after" and not used & {"error", "hang", "crash"}:
            raise PydanticCustomError("fault", "moment has no effect here: it belongs to error, hang, crash")
        if groups & {*_SYNCHRONOUS} and (used & {"hang"} or self.latency is not None):
            raise PydanticCustomError("fault", "a write to the disk takes no time here: use error, crash or torn")
        if self.code is not None and not groups & {"api", "cni"}:
            raise PydanticCustomError("fault", "code is for operations of api and cni")
        if self.code is not None and groups == {"api"} and not 400 <= self.code <= 599:
            raise PydanticCustomError("fault", "code of the API server is an HTTP status of an error: 400 to 599")
        return self
