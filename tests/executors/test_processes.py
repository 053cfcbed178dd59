"""Tasks in processes of this machine, and in this process: one result for each task, whatever happens to a worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubesim.executors.executor import ATTEMPTS, Executor, Lost, PureTask
from kubesim.executors.processes import ProcessPool
from kubesim.executors.same_process import SameProcess
from tests.support.pure_tasks import DiesAtFirst, Hangs, Square, attempts

# The warning is about forking a process with threads; the children of these tests run only simple code.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@pytest.mark.parametrize("executor", [SameProcess(), ProcessPool(1), ProcessPool(3)])
def test_each_task_has_one_result_with_its_number(executor: Executor) -> None:
    assert sorted(executor.results([Square(n) for n in range(20)])) == [(n, n * n) for n in range(20)]
    assert list(executor.results([])) == []


def test_tasks_run_in_as_many_processes_as_jobs(tmp_path: Path) -> None:
    diary = str(tmp_path / "diary")
    list(ProcessPool(2).results([Square(n, diary) for n in range(10)]))
    processes = set(attempts(diary))
    assert 1 <= len(processes) <= 2
    assert os.getpid() not in processes


def test_a_task_whose_process_dies_is_repeated_and_counted_once(tmp_path: Path) -> None:
    diary = str(tmp_path / "diary")
    tasks: list[PureTask[int]] = [Square(3), DiesAtFirst(7, diary), Square(4)]
    assert sorted(ProcessPool(2).results(tasks)) == [(0, 9), (1, 7), (2, 16)]
    first, second = attempts(diary)
    assert first != second


def test_a_task_that_kills_every_process_is_lost(tmp_path: Path) -> None:
    diary = str(tmp_path / "diary")
    tasks: list[PureTask[int]] = [DiesAtFirst(7, diary, deaths=100), Square(4)]
    results = dict(ProcessPool(1).results(tasks))
    assert results == {0: Lost("the process that ran it was killed by SIGKILL"), 1: 16}
    assert len(attempts(diary)) == ATTEMPTS


def test_a_task_that_takes_too_long_is_lost_and_not_repeated(tmp_path: Path) -> None:
    diary = str(tmp_path / "diary")
    tasks: list[PureTask[int]] = [Hangs(diary), Square(4)]
    results = dict(ProcessPool(2, limit_s=1.5).results(tasks))
    assert results == {0: Lost("it was stopped after 1.5s (--timeout)"), 1: 16}
    assert len(attempts(diary)) == 1


def test_a_reader_that_stops_leaves_no_process(tmp_path: Path) -> None:
    diary = str(tmp_path / "diary")
    tasks: list[PureTask[int]] = [Square(1, diary), Hangs(diary)]
    running = ProcessPool(1).results(tasks)
    next(running)
    running.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(attempts(diary)[0], 0)


def test_an_executor_works_again_after_a_reader_that_stopped() -> None:
    executor = ProcessPool(2)
    running = executor.results([Square(n) for n in range(10)])
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert sorted(executor.results([Square(5)])) == [(0, 25)]
