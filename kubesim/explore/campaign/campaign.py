"""`Campaign`: draws episodes and searches, until the budget is used up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from kubesim.clock.stopwatch import Stopwatch
from kubesim.errors import KubesimError
from kubesim.executors.executor import Executor
from kubesim.explore.campaign.episodes import Episode, EpisodeDraw, next_draw
from kubesim.explore.search.exploration import Budget, Exploration, ExploreResult, SearchProgress, Settings
from kubesim.explore.search.finding import Finding, Identity
from kubesim.explore.subject import ExploreSubject
from kubesim.values import mutable, part, replace, value_object

EPISODE_RUNS = 96
SAMPLE = 48  # single faults of an episode; the other runs are pairs and random combinations


@value_object
class CampaignPlan:
    """`files` are scenarios; `settings` and `checked` are those of every search. `profile` None: it is drawn."""

    files: tuple[str, ...]
    settings: Settings
    checked: tuple[str, ...]
    profile: str | None = None


@mutable(eq=False)
class CampaignState:
    """What the campaign has done: `seconds` also before it was interrupted."""

    episodes: list[Episode] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)
    known: set[Identity] = field(default_factory=set)

    def add(self, episode: Episode) -> None:
        self.episodes.append(episode)
        self.rules.update(episode.new_rules)
        self.known.update(episode.findings)

    @property
    def runs(self) -> int:
        return sum(episode.runs for episode in self.episodes)

    @property
    def seconds(self) -> float:
        return sum(episode.seconds for episode in self.episodes)


@part
class Campaign:
    """`on_findings` stores new findings before the episode counts as done; `on_episode` stores the episode."""

    plan: CampaignPlan
    executor: Executor
    state: CampaignState
    on_findings: Callable[[Sequence[Finding]], None]
    on_episode: Callable[[Episode], None]
    on_progress: Callable[[SearchProgress], None] = lambda progress: None

    def run(self) -> None:
        """Search until the budget of all episodes is used up. Raises KeyboardInterrupt."""
        while budget := self._next_budget():
            draw = next_draw(self.plan.files, self.state.episodes, self.plan.settings.seed, self.plan.profile)
            self._search(draw, budget)

    def _next_budget(self) -> Budget | None:
        """The budget of the next episode; None: the campaign is over."""
        whole, state = self.plan.settings.budget, self.state
        if whole.runs is not None:
            left = whole.runs - state.runs
            is_stuck = len(state.episodes) >= 10 * len(self.plan.files) and not state.runs
            return Budget(runs=min(EPISODE_RUNS, left)) if left > 0 and not is_stuck else None
        left_s = (whole.seconds or 0.0) - state.seconds
        return Budget(runs=EPISODE_RUNS, seconds=left_s) if left_s > 0 else None

    def _search(self, draw: EpisodeDraw, budget: Budget) -> None:
        watch = Stopwatch()
        try:
            draw, subject = self._subject(draw)
        except KubesimError as error:
            return self._add(Episode(draw, 0, 0, watch.seconds(), problem=str(error)))
        settings = replace(self.plan.settings, budget=budget, seed=draw.seed, sample=SAMPLE)
        exploration = Exploration(subject, settings, self.executor, self.on_progress)
        try:
            exploration.explore()
        finally:  # an interrupted one has findings, too
            self._add(self._episode(draw, exploration.result(), watch))

    def _episode(self, draw: EpisodeDraw, result: ExploreResult, watch: Stopwatch) -> Episode:
        new = [finding for finding in news_of(result) if finding.identity not in self.state.known]
        self.on_findings(new)
        rules = tuple(sorted(set(result.rules) - self.state.rules))
        runs = max(result.runs, 1)  # the reference, if the scenario has no point for a fault
        found = tuple(finding.identity for finding in new)
        return Episode(draw, runs, result.shrinking, watch.seconds(), rules, found)

    def _add(self, episode: Episode) -> None:
        self.state.add(episode)
        self.on_episode(episode)

    def _subject(self, draw: EpisodeDraw) -> tuple[EpisodeDraw, ExploreSubject]:
        """What is searched: with the scenario's own profile if the drawn one does not have its feature gates. Raises
        KubesimError."""
        own = ExploreSubject.of_file(draw.file, profile=self.plan.profile).scenario().spec.profile
        try:
            return draw, ExploreSubject.of_file(
                draw.file, profile=draw.profile, seed=draw.seed, checked=self._checked(draw.profile == own)
            )
        except KubesimError:
            draw = replace(draw, profile=own)
            return draw, ExploreSubject.of_file(
                draw.file, profile=own, seed=draw.seed, checked=self._checked(is_own_profile=True)
            )

    def _checked(self, is_own_profile: bool) -> tuple[str, ...]:
        """Expectations are those of the scenario's own profile: what they say of another one need not be true."""
        return tuple(name for name in self.plan.checked if name != "expectations" or is_own_profile)


def news_of(result: ExploreResult) -> Iterator[Finding]:
    """The findings that need a fault: a scenario with a failing pod never converges even without one."""
    expected = ("no convergence", "expectation")
    return (each for each in result.findings if each.choices or each.problem.rule not in expected)
