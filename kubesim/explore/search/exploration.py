"""`Exploration`: plays the parts of a search on an executor until the budget is used up.

The parts take turns: their tasks of one round are played side by side. One run in a hundred is played again in another
process with another hash seed, and must give the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from kubesim.clock.stopwatch import Stopwatch
from kubesim.executors.executor import Executor, Lost
from kubesim.explore.choice import EFFECTS
from kubesim.explore.points import choices_of
from kubesim.explore.replay import Replay
from kubesim.explore.run import NO_CONVERGENCE, Problem, Run, RunOutcome
from kubesim.explore.search.finding import Finding, merged
from kubesim.explore.search.part import PARTS, Part, Plan, Steps
from kubesim.explore.search.strand import Strand, StrandOutcome
from kubesim.explore.subject import Subject
from kubesim.values import mutable, value_object

CHECKED = 100  # one run in so many is played twice


@value_object
class Budget:
    """When a search ends: after a number of runs, or after a time (seconds of the wall clock). Runs of shrinking do not
    count."""

    runs: int | None = None
    seconds: float | None = None


@value_object
class Settings:
    """How to search. A shard `(i, n)` plays the parts i, i + n, ...; the search has at least n parts."""

    effects: tuple[str, ...] = tuple(EFFECTS)
    budget: Budget = Budget(runs=200)
    seed: int = 0
    shard: tuple[int, int] = (0, 1)
    database: str = ""


@mutable(eq=False)
class Progress:
    """How far a search is, for the terminal."""

    runs: int = 0
    rules: int = 0
    findings: int = 0
    budget: Budget = Budget()
    seconds: float = 0.0


@mutable(eq=False)
class ExploreResult:
    """What a search found. Everything but `seconds` and `jobs` depends only on the settings, if the budget is a number
    of runs. `rules` counts the runs that reached each rule."""

    subject: Subject
    settings: Settings
    reference: RunOutcome
    findings: list[Finding] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)
    growth: list[tuple[int, int]] = field(default_factory=list)
    runs: int = 0
    shrinking: int = 0
    checked: int = 0  # runs that were played twice
    singles: int = 0  # single choices that exist
    lost: int = 0  # runs without a result
    seconds: float = 0.0
    jobs: int = 1
    interrupted: bool = False


class Exploration:
    """One search. `result` is complete, or as far as it came when it was interrupted."""

    def __init__(
        self,
        subject: Subject,
        settings: Settings,
        executor: Executor,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._subject, self._settings, self._executor = subject, settings, executor
        self._on_progress = on_progress
        self._watch = Stopwatch()
        self._parts: list[Part] = []
        self._others: list[Finding] = []  # that no part found: of the reference, of repeated runs
        self._numbered = 0
        self._progress = Progress(budget=settings.budget)
        self._result = ExploreResult(subject, settings, RunOutcome(""), jobs=executor.jobs)

    def explore(self) -> ExploreResult:
        """Search until the budget is used up. Raises KeyboardInterrupt; `result` has what was found by then."""
        [reference] = self._results([Run(self._subject, observed=True)])
        if any(problem.rule == NO_CONVERGENCE for problem in reference.problems) and not self._subject.must_converge():
            self._subject = self._subject.not_checking("convergence")
            self._result.subject = self._subject
            [reference] = self._results([Run(self._subject, observed=True)])
        self._result.reference = reference
        self._others += [Finding(problem, Run(self._subject)) for problem in reference.problems]
        plan = self._plan(reference)
        self._result.singles = len(plan.singles)
        self._parts = list(self._make_parts(plan))
        waiting: list[tuple[Part, Steps, Sequence[Any]]] = []
        for part in self._parts:
            steps = part.steps()
            waiting += [(part, steps, tasks) for tasks in _next(steps, None)]
        while waiting and not self._is_over():
            waiting = self._round(waiting)
        return self.result()

    def result(self) -> ExploreResult:
        result = self._result
        found = [finding for part in self._parts for finding in part.findings.values()]
        result.findings = merged([*self._others, *found])
        rules: dict[str, int] = dict.fromkeys(result.reference.rules, 0)
        for part in self._parts:
            for rule, count in part.rules.items():
                rules[rule] = rules.get(rule, 0) + count
        result.rules = {rule: rules[rule] for rule in sorted(rules)}
        result.runs = sum(part.runs for part in self._parts)
        result.shrinking = sum(part.shrinking for part in self._parts)
        result.growth = _summed([part.growth for part in self._parts])
        result.seconds = self._watch.seconds()
        return result

    def _plan(self, reference: RunOutcome) -> Plan:
        settings, nodes = self._settings, len(self._subject.scenario().spec.nodes)
        singles = choices_of(reference.points, settings.effects, nodes=nodes)
        return Plan(self._subject, settings.effects, tuple(singles), reference, settings.seed, nodes, settings.database)

    def _make_parts(self, plan: Plan) -> Iterator[Part]:
        index, shards = self._settings.shard
        parts, runs = max(PARTS, shards), self._settings.budget.runs
        for number in range(index, parts, shards):
            share = None if runs is None else runs // parts + (number < runs % parts)
            yield Part(plan, number, parts, share)

    def _is_over(self) -> bool:
        seconds = self._settings.budget.seconds
        return seconds is not None and self._watch.seconds() >= seconds

    def _round(self, waiting: list[tuple[Part, Steps, Sequence[Any]]]) -> list[tuple[Part, Steps, Sequence[Any]]]:
        """Play the tasks of all parts, and return those that they ask for next."""
        results = self._results([task for _, _, tasks in waiting for task in tasks])
        following: list[tuple[Part, Steps, Sequence[Any]]] = []
        position = 0
        for part, steps, tasks in waiting:
            own = results[position : position + len(tasks)]
            position += len(tasks)
            following += [(part, steps, asked) for asked in _next(steps, own)]
        self._tell()
        return following

    def _results(self, tasks: Sequence[Any]) -> list[Any]:
        """The results of tasks in their order; some runs are played twice."""
        results: list[Any] = [None] * len(tasks)
        running = self._executor.results(tasks)
        try:
            for number, result in running:
                results[number] = self._answer(tasks[number], result)
                self._progress.runs += 1
                self._tell(quickly=True)
        finally:
            running.close()  # type: ignore[attr-defined]
        self._check(tasks, results)
        return results

    def _answer(self, task: Any, result: Any) -> Any:
        """A result, also for a task that was lost."""
        if not isinstance(result, Lost):
            return result
        self._result.lost += 1
        if isinstance(task, Strand):
            return StrandOutcome(task.runs, 0, frozenset())
        return RunOutcome("", problems=(Problem("run lost", result.why, result.why),))

    def _check(self, tasks: Sequence[Any], results: Sequence[Any]) -> None:
        """Play one run in a hundred again, in another process."""
        chosen = []
        for task, result in zip(tasks, results, strict=True):
            if isinstance(task, Run) and not task.observed and result.trace_hash:
                if self._numbered % CHECKED == 0:
                    chosen.append((task, result))
                self._numbered += 1
        again = self._executor.results([Replay(task) for task, _ in chosen])
        for number, found in again:
            run, outcome = chosen[number]
            self._result.checked += 1
            if not isinstance(found, Lost) and found != outcome.trace_hash:
                text = f"played again in another process, its trace is {found[:16]} and not {outcome.trace_hash[:16]}"
                self._others.append(Finding(Problem("not deterministic", text), run))

    def _tell(self, *, quickly: bool = False) -> None:
        progress = self._progress
        progress.seconds = self._watch.seconds()
        if not quickly:
            progress.rules = len({rule for part in self._parts for rule in part.rules})
            progress.findings = len(merged([*self._others, *(f for p in self._parts for f in p.findings.values())]))
        self._on_progress(progress)


def _next(steps: Steps, results: Sequence[Any] | None) -> list[Sequence[Any]]:
    """What a part asks for next; nothing at its end. A part that asks for no task gets no results immediately."""
    try:
        asked = next(steps) if results is None else steps.send(results)
        while not asked:
            asked = steps.send([])
    except StopIteration:
        return []
    return [asked]


def _summed(curves: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """The largest number of rules that one part had reached, by the number of runs of all."""
    longest = max(map(len, curves), default=0)
    summed = []
    for position in range(longest):
        at = [curve[min(position, len(curve) - 1)] for curve in curves if curve]
        summed.append((sum(runs for runs, _ in at), max(rules for _, rules in at)))
    return summed
