"""`RandomBatch`: random combinations of choices, with hypothesis as the engine.

Hypothesis draws the choices, shrinks them when a run has a problem, keeps such examples in its database and prefers
combinations that reach new rules (`target`). A batch is one task: a pure function of its seed, unless the database
has examples of earlier searches, which come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kubesim.explore.choice import Choice
from kubesim.explore.run import Problem, Run, RunOutcome
from kubesim.explore.search.finding import Finding, Identity
from kubesim.explore.subject import ExploreSubject
from kubesim.values import value_object

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MOST_FAULTS = 4
MOST_SHRINKING = 40  # runs; what they leave is shrunk further with less of the scenario


@value_object
class RandomBatchOutcome:
    """`shrinking` runs are not among `runs`."""

    runs: int
    shrinking: int
    rules: frozenset[str]
    findings: tuple[Finding, ...] = ()


@value_object
class RandomBatch:
    """A task: up to `runs` random runs. `known` are the problems that are no news; `rules` were reached before."""

    subject: ExploreSubject
    choices: tuple[Choice, ...]
    rules: frozenset[str]
    known: tuple[Identity, ...]
    seed: int
    runs: int
    database: str = ""

    def __call__(self) -> RandomBatchOutcome:
        return _Engine(self).outcome()


def combinations(choices: Sequence[Choice]) -> SearchStrategy[list[Choice]]:
    """Draws two or more of these choices: first the effect of each, then its point.

    Numbers are drawn bit by bit: hypothesis draws integers also from constants of all modules that happen to be
    imported, so a seed would not give the same numbers in every process.
    """
    from hypothesis import strategies as st

    effects = {choice.effect: [each for each in choices if each.effect == choice.effect] for choice in choices}
    one = _number(len(effects)).flatmap(lambda n: _one_of(list(effects.values())[n]))
    return st.lists(one, min_size=2, max_size=MOST_FAULTS, unique=True)


def _one_of(choices: Sequence[Choice]) -> SearchStrategy[Choice]:
    return _number(len(choices)).map(lambda n: choices[n])


def _number(below: int) -> SearchStrategy[int]:
    from hypothesis import strategies as st

    bits = st.tuples(*[st.booleans()] * (below - 1).bit_length())
    return bits.map(lambda drawn: sum(bit << n for n, bit in enumerate(drawn)) % below)


class _Engine:
    """Plays the examples of one batch."""

    def __init__(self, batch: RandomBatch) -> None:
        self._batch = batch
        self._played: dict[tuple[Choice, ...], RunOutcome] = {}
        self._found: dict[Identity, Finding] = {}
        self._failures: dict[Identity, type[Exception]] = {}

    def outcome(self) -> RandomBatchOutcome:
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis.database import DirectoryBasedExampleDatabase

        batch = self._batch
        configured = settings(
            max_examples=batch.runs,
            database=DirectoryBasedExampleDatabase(batch.database) if batch.database else None,
            deadline=None,
            phases=(Phase.reuse, Phase.generate, Phase.target, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )

        @configured
        @seed(batch.seed)
        @given(combinations(batch.choices))
        def example(drawn: list[Choice]) -> None:
            self._example(tuple(drawn))

        try:
            example()
        except BaseException as error:
            if not self._found or isinstance(error, KeyboardInterrupt):
                raise
        rules = frozenset(rule for outcome in self._played.values() for rule in outcome.rules)
        runs = min(len(self._played), batch.runs)
        return RandomBatchOutcome(runs, len(self._played) - runs, rules, tuple(self._found.values()))

    def _example(self, choices: tuple[Choice, ...]) -> None:
        from hypothesis import target

        outcome = self._played.get(choices)
        if outcome is None and len(self._played) >= self._batch.runs + MOST_SHRINKING:
            return  # hypothesis treats it as an example without a problem, and stops shrinking
        if outcome is None:
            outcome = self._played[choices] = Run(self._batch.subject, choices)()
        target(float(len(outcome.rules - self._batch.rules)), label="new rules")
        for problem in outcome.problems:
            if problem.identity not in self._batch.known:
                self._note(problem, choices)
                raise self._failure(problem.identity)

    def _note(self, problem: Problem, choices: tuple[Choice, ...]) -> None:
        found = self._found.get(problem.identity)
        if found is None or len(choices) < len(found.choices):
            self._found[problem.identity] = Finding(problem, Run(self._batch.subject, choices))

    def _failure(self, identity: Identity) -> Exception:
        """An exception with a class for each problem, because hypothesis shrinks each class separately."""
        made: Any = self._failures.setdefault(identity, type("ProblemFound", (AssertionError,), {}))
        failure: Exception = made(": ".join(identity))
        return failure
