"""`kubesim run --save FILE`: saves the whole run for `kubesim get`, `describe`, `logs`, `events` and `diff`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kubesim.cli.flags import options
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.cluster.saved.lines import RunHeader
    from kubesim.cluster.saved.observer import SavedRunWriter
    from kubesim.scenario.ending.result import RunResult
    from kubesim.scenario.language.document import Scenario
    from kubesim.trace import Sink


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--save",
        metavar="FILE",
        help="save the trace and all changes of objects in FILE, compressed if FILE ends in .gz, without the data of "
        "Secrets; kubesim get, describe, logs, events and diff read it",
    )


def check_together(args: argparse.Namespace) -> None:
    if args.save is not None and (step := options.stepping_flag(args)):
        raise UsageError(f"{step} cannot be combined with --save: save the run first")


def check_runs(args: argparse.Namespace, scenarios: Sequence[tuple[str, Scenario]]) -> None:
    if args.save is None:
        return
    if len(scenarios) > 1:
        raise UsageError("--save saves one run: give one scenario")
    if any(scenario.spec.sources.apiserver is not None for _, scenario in scenarios):
        raise UsageError("--save cannot save a live cluster: kubesim attach --record records one")


@contextmanager
def opened(args: argparse.Namespace, *, paced: bool) -> Iterator[SavingRun]:
    """The file is opened before the run, so that a wrong name is a usage error immediately.

    A paced run is written line by line, so that others can read the file during the run.
    """
    if args.save is None:
        yield SavingRun(None)
        return
    from kubesim.cluster.saved.observer import BATCH, SavedRunWriter

    writer = SavedRunWriter(args.save, 0 if paced else BATCH)
    try:
        yield SavingRun(writer)
    finally:
        writer.close()


class SavingRun:
    """The file in which a run is saved, if any."""

    def __init__(self, writer: SavedRunWriter | None) -> None:
        self._writer = writer

    def sinks(self, scenario: Scenario, seed: int | None) -> tuple[Sink, ...]:
        if self._writer is None:
            return ()
        from kubesim.cluster.saved.observer import RunObserver

        self._writer.begin(header_of(scenario, seed))
        return (RunObserver(self._writer),)

    def finish(self, result: RunResult) -> None:
        """End the file. An interrupted run has no last line."""
        if self._writer is not None and not result.interrupted:
            self._writer.end(result.duration, result.ok, result.trace_hash)


def header_of(scenario: Scenario, seed: int | None) -> RunHeader:
    from kubesim.clock.clock import VIRTUAL_START
    from kubesim.cluster.saved.lines import RunHeader

    nodes = tuple(item.name for item in scenario.spec.nodes)
    chosen = scenario.spec.seed if seed is None else seed
    return RunHeader(scenario.name, chosen, scenario.gates.profile, VIRTUAL_START, nodes)
