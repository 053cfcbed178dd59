"""`make bench` of exploring: runs per second of one core, and how much faster two processes are."""

from __future__ import annotations

from kubesim.clock.stopwatch import Stopwatch
from kubesim.executors.executor import Executor
from kubesim.executors.processes import ProcessPool
from kubesim.executors.same_process import SameProcess
from kubesim.explore.search.exploration import Budget, Exploration, Settings
from kubesim.explore.subject import ExploreSubject
from tests.support.explored import TWO_INITS


def figures(runs: int) -> tuple[float, float]:
    """Runs per CPU second of this process, and the speed of two processes divided by that of one."""
    subject = ExploreSubject("bench.yaml", TWO_INITS, "", "bench")  # 200 s
    watch = Stopwatch()
    played = search(subject, runs // 4, SameProcess())
    rate = played / watch.cpu_seconds()
    seconds = []
    for jobs in (1, 2):
        watch = Stopwatch()
        search(subject, runs, ProcessPool(jobs))
        seconds.append(watch.seconds())
    return rate, seconds[0] / seconds[1]


def search(subject: ExploreSubject, runs: int, executor: Executor) -> int:
    result = Exploration(subject, Settings(budget=Budget(runs=runs)), executor).explore()
    return result.runs + result.shrinking
