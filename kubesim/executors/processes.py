"""Tasks in parallel processes of this machine, each of which runs one task at a time.

Workers are forked: they have the tasks and all imports already, so only the number of a task goes to a worker, and only
a result comes back. The parent knows what each one is running. If a worker dies, it is replaced, and its task repeated.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kubesim.clock.stopwatch import Stopwatch
from kubesim.executors.executor import ATTEMPTS, Lost, PureTask, T
from kubesim.golang.text import duration
from kubesim.linux.private_node.private import die_with_parent
from kubesim.values import part

_FORK = multiprocessing.get_context("fork")


class TaskWorker:
    """One process. `task` is the number of the task that it is running, None while it waits."""

    def __init__(self, tasks: Sequence[PureTask[Any]], others: Sequence[TaskWorker]) -> None:
        self.connection, theirs = _FORK.Pipe()
        inherited = [self.connection, *(worker.connection for worker in others)]
        self.process = _FORK.Process(target=_serve, args=(theirs, inherited, tasks, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.task: int | None = None
        self.watch = Stopwatch()

    def begin(self, task: int) -> None:
        self.task, self.watch = task, Stopwatch()
        with suppress(OSError):  # a dead one is noticed when its answer is awaited
            self.connection.send(task)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(connection: Connection[Any, Any], inherited: list[Any], tasks: Sequence[PureTask[Any]], parent: int) -> None:
    """In the worker: run what is requested until the parent closes the connection. Ctrl-C is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    for other in inherited:
        other.close()
    with suppress(EOFError, OSError):
        while True:
            connection.send(tasks[connection.recv()]())


@part
class ProcessPool:
    """Implements `Executor`. A task may take `limit_s` seconds of the wall clock."""

    jobs: int
    limit_s: float | None = None

    def results(self, tasks: Sequence[PureTask[T]]) -> Iterator[tuple[int, T | Lost]]:
        waiting = list(range(len(tasks)))[::-1]
        deaths: Counter[int] = Counter()  # of workers, by the task that they were running
        workers: list[TaskWorker] = []
        try:
            while waiting or any(worker.task is not None for worker in workers):
                _give_work(workers, waiting, tasks, self.jobs)
                for worker in _answering(workers, self.limit_s):
                    number = worker.task
                    assert number is not None
                    is_late = _is_late(worker, self.limit_s)
                    result, alive = _answer(worker, self.limit_s)
                    worker.task = None
                    if not alive:
                        worker.end()
                        workers.remove(worker)
                        deaths[number] += 1
                    if alive or is_late or deaths[number] == ATTEMPTS:
                        yield number, result
                    else:
                        waiting.append(number)
        finally:
            for worker in workers:
                worker.end()

    def close(self) -> None:
        pass


def _give_work(workers: list[TaskWorker], waiting: list[int], tasks: Sequence[PureTask[Any]], jobs: int) -> None:
    while waiting:
        idle = next((worker for worker in workers if worker.task is None), None)
        if idle is None and len(workers) < jobs:
            idle = TaskWorker(tasks, workers)
            workers.append(idle)
        if idle is None:
            return
        idle.begin(waiting.pop())


def _answering(workers: list[TaskWorker], limit_s: float | None) -> list[TaskWorker]:
    """The busy workers that have answered, have died or take too long."""
    busy = [worker for worker in workers if worker.task is not None]
    left = None
    if limit_s is not None:
        left = max(0.0, min(limit_s - worker.watch.seconds() for worker in busy))
    ready = wait([worker.connection for worker in busy], left)
    return [worker for worker in busy if worker.connection in ready or _is_late(worker, limit_s)]


def _is_late(worker: TaskWorker, limit_s: float | None) -> bool:
    return limit_s is not None and worker.watch.seconds() >= limit_s


def _answer(worker: TaskWorker, limit_s: float | None) -> tuple[Any, bool]:
    """The result of the task, and whether the worker can continue."""
    if worker.connection.poll():
        with suppress(EOFError, OSError):
            return worker.connection.recv(), True
        worker.process.join()
        return Lost(f"the process that ran it {_ended(worker.process.exitcode or 0)}"), False
    return Lost(f"it was stopped after {duration(int((limit_s or 0) * 1_000_000))} (--timeout)"), False


def _ended(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
