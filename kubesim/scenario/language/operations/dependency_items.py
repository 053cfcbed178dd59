"""External services that containers share, such as a database: behaviours call them, and a step can slow them down."""

from __future__ import annotations

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.golang.text import duration
from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.strict import Strict, defaults
from kubesim.scenario.language.variation.draw_items import DurationOrDraw


class DependencyItem(Strict):
    """An external service that the `needs` of a behaviour refer to. It answers after its latency."""

    name: str = Field(min_length=1)  # `database`
    latency: DurationOrDraw = defaults(value=0)  # of each answer: `20ms`
    down: bool = False  # it refuses connections immediately: `down: true`
    pod: str = ""  # `name` or `namespace/name`: it is down while this pod is not Ready


class Need(Strict):
    """A dependency that a container calls before it responds; a plain text is its name."""

    name: str = Field(min_length=1)  # `database`
    path: str = "*"  # a glob: only requests with this path, or commands of exec probes, call it


class DependencyStep(Strict):
    """A step that changes a dependency; absent fields stay. With `for`, the change is reverted after that time."""

    name: str = Field(min_length=1)  # `database`
    latency: DurationOrDraw | None = None  # from now on: `5s`
    down: bool | None = None  # from now on: `true`
    duration: Duration | None = Field(default=None, alias="for", gt=0)  # `1m`

    @model_validator(mode="after")
    def _says_something(self) -> DependencyStep:
        if self.latency is None and self.down is None:
            raise PydanticCustomError("dependency", "give latency or down")
        return self

    @property
    def shown(self) -> str:
        """The new state in words: `is up, answers after 5s`."""
        state = {None: "", True: "is down", False: "is up"}[self.down]
        fixed = self.latency.value if self.latency is not None else None
        late = f"answers after {duration(fixed)}" if fixed is not None else "takes another time to answer"
        return ", ".join(filter(None, (state, late if self.latency is not None else "")))
