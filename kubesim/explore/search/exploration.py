"""`Exploration`: plays the partitions of a search on an executor until the budget is used up.

The partitions take turns: their tasks of one round run in parallel. The reference and one run in a hundred are
played again in another process with another hash seed, and must give the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from kubesim.clock import Randomness
from kubesim.clock.stopwatch import Stopwatch
from kubesim.executors.executor import Executor, Lost
from kubesim.explore.choice import EFFECTS
from kubesim.explore.points import choices_of
from kubesim.explore.repeated_run import RepeatedRuns, is_repeated
from kubesim.explore.run import NO_CONVERGENCE, Problem, Run, RunOutcome
from kubesim.explore.search.finding import Finding, merged
from kubesim.explore.search.partition import PARTITIONS, Partition, SearchPlan, Steps
from kubesim.explore.search.random_batch import RandomBatch, RandomBatchOutcome
from kubesim.explore.subject import ExploreSubject
from kubesim.values import mutable, value_object

REPEATED_AT_ONCE = 32  # runs that are played twice, in one process


@value_object
class Budget:
    """When a search ends: after a number of runs, or after a time (seconds of the wall clock). Runs of shrinking do not
    count."""

    runs: int | None = None
    seconds: float | None = None


@value_object
class Settings:
    """How to search. A shard `(i, n)` plays the partitions i, i + n, ...; the search has at least n partitions.
    `sample` is the number of single faults, drawn with the seed; None: all of them."""

    effects: tuple[str, ...] = tuple(EFFECTS)
    budget: Budget = Budget(runs=200)
    seed: int = 0
    shard: tuple[int, int] = (0, 1)
    database: str = ""
    sample: int | None = None


Asked = tuple[Partition, Steps, Sequence[Any]]  # the tasks that a partition asks for


@mutable(eq=False)
class SearchProgress:
    """How far a search is, for the terminal."""

    runs: int = 0
    played: int = 0  # with the runs of this round, and those of shrinking
    rules: int = 0
    findings: int = 0
    budget: Budget = Budget()
    seconds: float = 0.0


@mutable(eq=False)
class ExploreResult:
    """A search's result. Everything but `seconds` and `jobs` depends only on the settings, if the budget is a number
    of runs. `rules` counts the runs that reached each rule."""

    subject: ExploreSubject
    settings: Settings
    reference: RunOutcome
    findings: list[Finding] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)
    growth: list[tuple[int, int]] = field(default_factory=list)
    runs: int = 0
    shrinking: int = 0
    played_twice: int = 0  # runs
    singles: int = 0  # single choices that exist
    lost: int = 0  # runs without a result
    seconds: float = 0.0
    jobs: int = 1
    interrupted: bool = False


class Exploration:
    """One search. `result` is complete, or as far as it came when it was interrupted."""

    def __init__(
        self,
        subject: ExploreSubject,
        settings: Settings,
        executor: Executor,
        on_progress: Callable[[SearchProgress], None] = lambda progress: None,
    ) -> None:
        self._subject, self._settings, self._executor = subject, settings, executor
        self._on_progress = on_progress
        self._watch = Stopwatch()
        self._partitions: list[Partition] = []
        self._own_findings: list[Finding] = []  # findings of no partition: of the reference and of repeated runs
        self._interrupt: KeyboardInterrupt | None = None
        self._to_repeat: list[tuple[Run, str]] = []  # with the hash of the first trace
        self._progress = SearchProgress(budget=settings.budget)
        self._result = ExploreResult(subject, settings, RunOutcome(""), jobs=executor.jobs)

    def explore(self) -> ExploreResult:
        """Search until the budget is used up. Raises KeyboardInterrupt; `result` has what was found by then."""
        run = Run(self._subject, observed=True)
        [reference] = self._results([run])
        self._raise_interrupt()
        if any(problem.rule == NO_CONVERGENCE for problem in reference.problems) and not self._subject.must_converge():
            self._subject = self._result.subject = self._subject.not_checking("convergence")
            run = Run(self._subject, observed=True)
            [reference] = self._results([run])
            self._raise_interrupt()
        self._result.reference = reference
        if self._settings.shard[0] == 0 and self._settings.sample is None and reference.trace_hash:
            self._to_repeat.append((run, reference.trace_hash))
        self._own_findings += [Finding(problem, Run(self._subject)) for problem in reference.problems]
        plan = self._plan(reference)
        self._result.singles = len(plan.singles)
        self._partitions = list(self._make_partitions(plan))
        waiting: list[Asked] = []
        for partition in self._partitions:
            steps = partition.steps()
            waiting += [(partition, steps, tasks) for tasks in _next(steps, None)]
        while waiting:
            waiting = self._round(waiting)
            if self._is_over():
                self._end_after_shrinking()
        self._repeat()
        return self.result()

    def result(self) -> ExploreResult:
        result = self._result
        found = [finding for partition in self._partitions for finding in partition.findings.values()]
        result.findings = merged([*self._own_findings, *found])
        rules: dict[str, int] = dict.fromkeys(result.reference.rules, 0)
        for partition in self._partitions:
            for rule, count in partition.rules.items():
                rules[rule] = rules.get(rule, 0) + count
        result.rules = {rule: rules[rule] for rule in sorted(rules)}
        result.runs = sum(partition.runs for partition in self._partitions)
        result.shrinking = sum(partition.shrinking for partition in self._partitions)
        result.growth = summed([partition.growth for partition in self._partitions])
        result.seconds = self._watch.seconds()
        return result

    def _plan(self, reference: RunOutcome) -> SearchPlan:
        settings, nodes = self._settings, len(self._subject.scenario().spec.nodes)
        singles = choices_of(reference.points, settings.effects, nodes=nodes)
        if settings.sample is not None and settings.sample < len(singles):
            singles = Randomness(settings.seed).stream("sample").sample(singles, settings.sample)
        shared = (self._subject, settings.effects, tuple(singles), reference)
        return SearchPlan(*shared, settings.seed, nodes, settings.database)

    def _make_partitions(self, plan: SearchPlan) -> Iterator[Partition]:
        index, shards = self._settings.shard
        partitions, runs = max(PARTITIONS, shards), self._settings.budget.runs
        for number in range(index, partitions, shards):
            share = None if runs is None else runs // partitions + (number < runs % partitions)
            yield Partition(plan, number, partitions, share)

    def _is_over(self) -> bool:
        seconds = self._settings.budget.seconds
        return seconds is not None and self._watch.seconds() >= seconds

    def _raise_interrupt(self) -> None:
        if self._interrupt is not None:
            raise self._interrupt

    def _end_after_shrinking(self) -> None:
        for partition in self._partitions:
            partition.left = 0

    def _round(self, waiting: list[Asked]) -> list[Asked]:
        """Run the tasks of all partitions, and return the next requested ones."""
        results = self._results([task for _, _, tasks in waiting for task in tasks])
        following: list[Asked] = []
        position = 0
        for partition, steps, tasks in waiting:
            own = results[position : position + len(tasks)]
            position += len(tasks)
            following += [(partition, steps, asked) for asked in _next(steps, own)]
        self._raise_interrupt()
        self._report_progress()
        return following

    def _results(self, tasks: Sequence[Any]) -> list[Any]:
        """The results of tasks in their order; None for those that were not played, because the time was up or the
        search was interrupted."""
        was_over = self._is_over()
        results: list[Any] = [None] * len(tasks)
        running = self._executor.results(tasks)
        try:
            for number, result in running:
                results[number] = self._outcome_of(tasks[number], result)
                self._progress.played += 1
                self._progress.runs += 1  # exact at the end of the round: some are for shrinking
                self._report_progress(quickly=True)
                if self._is_over() and not was_over:  # later requests are for shrinking
                    break
        except KeyboardInterrupt as interrupt:  # raised again when the partitions have received the results
            self._interrupt = interrupt
        finally:
            running.close()  # type: ignore[attr-defined]
        for task, result in zip(tasks, results, strict=True):
            if isinstance(task, Run) and result is not None and is_repeated(task, result.trace_hash):
                self._to_repeat.append((task, result.trace_hash))
        if len(self._to_repeat) >= REPEATED_AT_ONCE and self._interrupt is None:
            self._repeat()
        return results

    def _outcome_of(self, task: Any, result: Any) -> Any:
        """A result, also for a task that was lost."""
        if not isinstance(result, Lost):
            return result
        self._result.lost += 1
        if isinstance(task, RandomBatch):
            return RandomBatchOutcome(task.runs, 0, frozenset())
        return RunOutcome("", problems=(Problem("run lost", result.why, result.why),))

    def _repeat(self) -> None:
        """Play the chosen runs again, in another process."""
        chosen, self._to_repeat = self._to_repeat, []
        if not chosen:
            return
        for _, hashes in self._executor.results([RepeatedRuns(tuple(run for run, _ in chosen))]):
            if isinstance(hashes, Lost):
                hashes = (f"missing: {hashes.why}",) * len(chosen)
            for (run, first), second in zip(chosen, hashes, strict=True):
                self._result.played_twice += 1
                if first != second:
                    text = f"played again in another process, its trace is {second[:100]} and not {first}"
                    self._own_findings.append(Finding(Problem("not deterministic", text), run))

    def _report_progress(self, *, quickly: bool = False) -> None:
        progress = self._progress
        progress.seconds = self._watch.seconds()
        if not quickly:
            progress.runs = sum(partition.runs for partition in self._partitions)
            progress.rules = len({rule for partition in self._partitions for rule in partition.rules})
            progress.findings = len(
                merged([*self._own_findings, *(f for p in self._partitions for f in p.findings.values())])
            )
        self._on_progress(progress)


def _next(steps: Steps, results: Sequence[Any] | None) -> list[Sequence[Any]]:
    """The tasks that a partition requests next; empty at its end. An empty request gets an empty list at once."""
    try:
        asked = next(steps) if results is None else steps.send(results)
        while not asked:
            asked = steps.send([])
    except StopIteration:
        return []
    return [asked]


def summed(curves: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """The largest number of rules that one partition had reached, by the number of runs of all."""
    longest = max(map(len, curves), default=0)
    summed = []
    for position in range(longest):
        at = [curve[min(position, len(curve) - 1)] for curve in curves if curve]
        summed.append((sum(runs for runs, _ in at), max(rules for _, rules in at)))
    return summed
