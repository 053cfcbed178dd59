"""The steps of a walk."""

from __future__ import annotations

from kubesim.values import value_object


@value_object
class Step:
    """A mechanism, the upstream functions, and a text in the command's output, ignoring runs of blanks and the bars of
    the timeline.
    """

    what: str
    upstream: str
    shows: str
    is_absent: bool = False  # the text is not in the output


@value_object
class Shown:
    """Steps that one command demonstrates. `exit` is its exit code. On a `host` it runs with the network namespace
    blue.
    """

    command: str
    steps: tuple[Step, ...]
    exit: int = 0
    host: bool = False
    about: str = ""


@value_object
class Walk:
    title: str
    about: str
    parts: tuple[Shown, ...]
