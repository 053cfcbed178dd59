"""What a scenario says about images and about what containers do."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.operations.dependency_items import Need
from kubesim.scenario.language.strict import Amount, OnUse, Strict, as_list, defaults, wrap
from kubesim.scenario.language.variation.draw_items import DurationOrDraw, ExitCodeOrDraw


class Credentials(Strict):
    """Whom a registry knows."""

    username: str = Field(min_length=1)
    password: str = Field(min_length=1)


class ImageItem(Strict):
    """How the registry and the node respond to requests for an image; `name` is the whole reference or a glob."""

    name: str = Field(min_length=1)
    present: bool = False
    pull_time: DurationOrDraw | None = None
    errors: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    missing: bool | str = False
    credentials: OnUse[Credentials] | None = None  # without which the registry does not give it
    size: int = Field(default=4_261_550, ge=0)
    user: str = ""  # that the image says to run as: `101`, `nginx`, `101:101`; none is root
    stop_signal: str = Field(default="", pattern=r"^(SIG[A-Z0-9]+)?$")


class LogItem(Strict):
    text: str
    after: Duration = 0


class OnTerm(Strict):
    """What a container does about the TERM signal."""

    ignore: bool = False
    after: DurationOrDraw = defaults(value=0)
    exit_code: int = Field(default=0, ge=0, le=255)


class BehaviourItem(Strict):
    """Instead of its command line: for which containers (globs), and what they do."""

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
    memory: Amount | None = None  # what a container uses; without it, what it requests
    disk: Amount | None = None
    processes: int | None = Field(default=None, ge=0)
    # Dependencies that it asks before it answers probes; see `spec.dependencies`.
    needs: Annotated[tuple[Annotated[Need, wrap("name")], ...], BeforeValidator(as_list)] = ()
