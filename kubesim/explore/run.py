"""One run: a pure function of subject, seed and choices, whose outcome can be sent to another process.

`Run` is a task of an executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from traceback import extract_tb

from kubesim.app import Trial, run_scenario
from kubesim.clock.choices import RecordedDraw
from kubesim.clock.garbage import collected_rarely
from kubesim.errors import Deadlock
from kubesim.explore.choice import Choice
from kubesim.explore.points import Point, draw_points, points_of
from kubesim.explore.rules.coverage import CoverageSink, general
from kubesim.explore.subject import ExploreSubject, names_in
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.operations.names import OPERATIONS
from kubesim.trace import HashSink, MemorySink, Sink
from kubesim.values import value_object

NO_CONVERGENCE = "no convergence"
OBSERVED = tuple(f"{group}.*" for group in OPERATIONS)


@value_object
class Problem:
    """Problems that no fault may cause. Problems with the same rule and key count as one."""

    rule: str  # `invariant init-order`, `no convergence`, `deadlock`, `TypeError in compute_pod_actions`
    text: str  # in words, with the moment
    key: str = ""  # the text without names and numbers
    pod: str = ""
    at: int | None = None  # microseconds after the start
    story: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, str]:
        return self.rule, self.key


@value_object
class RunOutcome:
    """The outcome of a run. `points` only if they were requested."""

    trace_hash: str
    duration: int = 0
    rules: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
    points: tuple[Point, ...] = ()


@value_object
class Run:
    """A task: the subject with choices. With `observed` its outcome has the points of its trace."""

    subject: ExploreSubject
    choices: tuple[Choice, ...] = ()
    observed: bool = False

    def __call__(self) -> RunOutcome:
        scenario = self.subject.played(self.choices)
        trace, hashed, coverage = MemorySink(details=True), HashSink(), CoverageSink()
        sinks: list[Sink] = [hashed, coverage, *([trace] if self.observed else [])]
        draws: list[RecordedDraw] | None = [] if self.observed else None
        try:
            result = play(scenario, self.subject.seed, *sinks, draws=draws)
        except Deadlock as error:
            return RunOutcome(hashed.hexdigest(), problems=(Problem("deadlock", str(error), general(str(error))),))
        except Exception as error:  # a defect of kubesim is what exploring looks for
            return RunOutcome(hashed.hexdigest(), problems=(defect(error),))
        names = names_of(result) | names_in(self.subject)
        return RunOutcome(
            trace_hash=hashed.hexdigest(),
            duration=result.duration,
            rules=coverage.rules(names),
            problems=tuple(problems_of(result, names)),
            points=() if draws is None else (*points_of(trace.records), *draw_points(draws)),
        )


def play(scenario: Scenario, seed: int | None, *sinks: Sink, draws: list[RecordedDraw] | None = None) -> RunResult:
    """The run of an outcome, with these sinks. With `draws`, which receives them, operations are observed as well."""
    trial = Trial(scenario.gates, observed=() if draws is None else OBSERVED, draws=draws)
    with collected_rarely():
        return run_scenario(scenario, seed=seed, sinks=sinks, trial=trial)


def problems_of(result: RunResult, names: frozenset[str]) -> Iterator[Problem]:
    pods = any(failure.kind == "convergence" and failure.pod for failure in result.failures)  # and so their workloads
    for failure in result.failures:
        if failure.kind == "invariant":
            rule = f"invariant {failure.text.partition(':')[0]}"
            why = failure.why.rpartition(", at ")[0]
            yield Problem(rule, failure.why, general(why, names), failure.pod, failure.at, failure.records)
        elif failure.kind == "expectation":
            key = f"{failure.text} line {failure.line}"
            yield Problem("expectation", failure.sentence, key, failure.pod, failure.at, failure.records)
        elif failure.kind == "convergence" and (failure.pod or not pods):
            state = failure.why if failure.pod else failure.text.partition("/")[0]  # counts of workloads are no rule
            key = general(failure.why.partition("; ")[2] or state, names)  # of a node that is down, nothing else
            yield Problem(NO_CONVERGENCE, failure.sentence, key, failure.pod, failure.at, failure.records)


def defect(error: Exception) -> Problem:
    """A crash of kubesim, by the function that raised it."""
    frames = [frame for frame in extract_tb(error.__traceback__) if "kubesim" in frame.filename]
    frame = frames[-1] if frames else extract_tb(error.__traceback__)[-1]
    file = frame.filename.rpartition("kubesim/")[2]
    return Problem(f"{type(error).__name__} in {frame.name}", f"{error} ({file}:{frame.lineno})", file)


def names_of(result: RunResult) -> frozenset[str]:
    """Names of pods, which are no part of a rule."""
    return frozenset(word for pod in result.phases for word in (pod, pod.rpartition("/")[2]))
