"""Images and container behaviours in the scenario language."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.operations.dependency_items import Need
from kubesim.scenario.language.strict import Amount, OnUse, Strict, as_list, defaults, wrap
from kubesim.scenario.language.variation.draw_items import DurationOrDraw, ExitCodeOrDraw


class Credentials(Strict):
    """The credentials that a registry accepts."""

    username: str = Field(min_length=1)
    password: str = Field(min_length=1)


class ImageItem(Strict):
    """How the registry and the node answer requests for an image; `name` is a full reference or a glob."""

    name: str = Field(min_length=1)
    present: bool = False
    pull_time: DurationOrDraw | None = None
    errors: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    missing: bool | str = False
    credentials: OnUse[Credentials] | None = None  # if set, pulls need these credentials
    size: int = Field(default=4_261_550, ge=0)
    user: str = ""  # the user of the image config: `101`, `nginx`, `101:101`; empty: root
    stop_signal: str = Field(default="", pattern=r"^(SIG[A-Z0-9]+)?$")


class LogItem(Strict):
    text: str
    after: Duration = 0


class OnTerm(Strict):
    """The reaction of a container to SIGTERM."""

    ignore: bool = False
    after: DurationOrDraw = defaults(value=0)
    exit_code: int = Field(default=0, ge=0, le=255)


class BehaviourItem(Strict):
    """Simulated behaviour that replaces command lines: globs that select containers, and what the containers do."""

    pod: str = "*"
    container: str = "*"
    image: str = "*"
    times: int | None = Field(default=None, ge=1)
    run_for: DurationOrDraw | None = None
    exit_code: ExitCodeOrDraw = defaults(value=0)
    oom_killed: bool = False
    ready_after: DurationOrDraw = defaults(value=0)
    log: Annotated[tuple[Annotated[LogItem, wrap("text")], ...], BeforeValidator(as_list)] = ()
    termination_message: str = ""
    start_error: str = ""
    on_term: OnTerm = defaults()
    memory: Amount | None = None  # the memory usage of a container; default: its request
    disk: Amount | None = None
    processes: int | None = Field(default=None, ge=0)
    # Dependencies that the container calls before it answers probes; see `spec.dependencies`.
    needs: Annotated[tuple[Annotated[Need, wrap("name")], ...], BeforeValidator(as_list)] = ()
