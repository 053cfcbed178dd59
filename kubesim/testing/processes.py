"""Runs cases in parallel processes, one case per process at a time.

Workers are forked, so they already have the cases and all imports: only the number of a case is sent to a worker, and
only a result comes back. If a worker dies, its case fails, and the worker is replaced.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kubesim.clock.stopwatch import Stopwatch
from kubesim.golang.text import duration
from kubesim.linux.private_node.private import die_with_parent
from kubesim.testing.cases import ScenarioCase
from kubesim.testing.results import CaseResult
from kubesim.values import replace

Play = Callable[[ScenarioCase], CaseResult]
_FORK = multiprocessing.get_context("fork")


class CaseWorker:
    """A worker process. `case` is the number of its current case, None while it is idle."""

    def __init__(self, cases: Sequence[ScenarioCase], play: Play, others: Sequence[CaseWorker]) -> None:
        self.connection, theirs = _FORK.Pipe()
        inherited = [self.connection, *(worker.connection for worker in others)]
        self.process = _FORK.Process(target=_serve, args=(theirs, inherited, cases, play, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.case: int | None = None
        self.watch = Stopwatch()

    def begin(self, case: int) -> None:
        self.case, self.watch = case, Stopwatch()
        with suppress(OSError):  # a dead worker is detected when its result is awaited
            self.connection.send(case)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(
    connection: Connection[Any, Any], inherited: list[Any], cases: Sequence[ScenarioCase], play: Play, parent: int
) -> None:
    """Worker main loop: run cases until the parent closes the connection. Ctrl-C is handled by the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    for other in inherited:
        other.close()
    with suppress(EOFError, OSError):
        while True:
            connection.send(play(cases[connection.recv()]))


def run_in_processes(
    cases: Sequence[ScenarioCase], play: Play, jobs: int, limit_s: float | None = None
) -> Iterator[tuple[int, CaseResult]]:
    """Yields results with case numbers as they complete. `limit_s` is the real-time limit per case."""
    waiting = list(range(len(cases)))[::-1]
    workers: list[CaseWorker] = []
    try:
        while waiting or any(worker.case is not None for worker in workers):
            _give_work(workers, waiting, cases, play, jobs)
            for worker in _answering(workers, limit_s):
                number = worker.case
                assert number is not None
                result, alive = _answer(worker, cases[number], limit_s)
                worker.case = None
                if not alive:
                    worker.end()
                    workers.remove(worker)
                yield number, result
    finally:
        for worker in workers:
            worker.end()


def _give_work(
    workers: list[CaseWorker], waiting: list[int], cases: Sequence[ScenarioCase], play: Play, jobs: int
) -> None:
    while waiting:
        idle = next((worker for worker in workers if worker.case is None), None)
        if idle is None and len(workers) < jobs:
            idle = CaseWorker(cases, play, workers)
            workers.append(idle)
        if idle is None:
            return
        idle.begin(waiting.pop())


def _answering(workers: list[CaseWorker], limit_s: float | None) -> list[CaseWorker]:
    """The busy workers that have a result, died, or exceeded the limit."""
    busy = [worker for worker in workers if worker.case is not None]
    left = None
    if limit_s is not None:
        left = max(0.0, min(limit_s - worker.watch.seconds() for worker in busy))
    ready = wait([worker.connection for worker in busy], left)
    return [worker for worker in busy if worker.connection in ready or _is_late(worker, limit_s)]


def _is_late(worker: CaseWorker, limit_s: float | None) -> bool:
    return limit_s is not None and worker.watch.seconds() >= limit_s


def _answer(worker: CaseWorker, case: ScenarioCase, limit_s: float | None) -> tuple[CaseResult, bool]:
    """The result of the case, and whether the worker can continue."""
    if worker.connection.poll():
        with suppress(EOFError, OSError):
            result: CaseResult = worker.connection.recv()
            return result, True
        worker.process.join()
        why = f"the process that ran it {_ended(worker.process.exitcode or 0)}"
    else:
        why = f"it was stopped after {duration(int((limit_s or 0) * 1_000_000))} (--timeout)"
    crashed = CaseResult(case.file, case.scenario.name, case.seed, case.cell)
    return replace(crashed, problem=why, seconds=worker.watch.seconds()), False


def _ended(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
