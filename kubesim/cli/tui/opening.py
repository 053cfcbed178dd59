"""Opens the stepper: full-screen on a terminal, line by line elsewhere.

Textual is imported only where there is a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kubesim.cli.output.terminal import warn
from kubesim.cli.tui.lines import line_by_line
from kubesim.errors import UsageError
from kubesim.trace.records import Record
from kubesim.trace.stepping import RecordCondition, Stepper
from kubesim.trace.stepping.session import Injections, StepSession


def step_through(
    records: Sequence[Record],
    title: str,
    breaks: Sequence[RecordCondition] = (),
    *,
    nodes: bool = False,
    observed: bool = False,
    injections: Injections | None = None,
) -> None:
    """Step until the user quits, starting at the first break if any. With `nodes`, every line names its node.
    `observed`: the records were observed from outside.
    """
    session = StepSession(Stepper(records, breaks), title, injections)
    session.stepper.has_several_nodes, session.stepper.is_observed = nodes, observed
    if breaks and not session.stepper.stopped_by(session.stepper.here):
        session.key("c")
    if not has_terminal():
        line_by_line(session, sys.stdin, sys.stdout)
        return
    from kubesim.cli.tui.app import StepApp

    while True:
        StepApp(session).run(mouse=False)
        if session.requested_run is None:
            return
        warn("the run is played again")  # Textual has closed its screen, and the event loop that a run needs
        session.fulfil()


def has_terminal() -> bool:
    """Whether stdin and stdout are a terminal that can show a full screen."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def require_terminal() -> None:
    if not has_terminal():
        raise UsageError("--tui needs a terminal for its screen and its keys; --step also reads keys from a pipe")
