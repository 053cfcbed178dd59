"""The stepper during a run: follows the newest record until the user goes back."""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.cli.tui.app import StepApp
from kubesim.trace.records import Record
from kubesim.trace.stepping import Stepper
from kubesim.trace.stepping.session import StepSession


async def watch_live(
    records: Sequence[Record], title: str, closes_after_s: float | None, *, observed: bool = False
) -> None:
    """Step until the user quits or the time is over. `records` is not empty, and grows. `observed`: the records were
    observed from outside.
    """
    session = StepSession(Stepper(records), title)
    session.stepper.is_observed = observed
    session.follow()
    await StepApp(session, closes_after_s=closes_after_s).run_async(mouse=False)
