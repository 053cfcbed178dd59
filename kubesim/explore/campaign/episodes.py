"""`Episode`: one short search of a campaign, and the draw of the next one. Pure.

The draw of an episode depends on the seed of the campaign and on the episodes before it, so an interrupted campaign
continues as if it had not been interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubesim.clock import Randomness
from kubesim.explore.search.finding import Identity
from kubesim.features import DEFAULT_PROFILE
from kubesim.features.table import PROFILES
from kubesim.values import value_object

DEFAULT_SHARE: Final = 3  # the default profile is drawn this many times as often as another one


@value_object
class EpisodeDraw:
    """The search of an episode."""

    file: str
    profile: str
    seed: int


@value_object
class Episode:
    """The result of an episode. `new_rules` were reached by no episode before; `findings` neither found before."""

    draw: EpisodeDraw
    runs: int
    shrinking: int
    seconds: float
    new_rules: tuple[str, ...] = ()
    findings: tuple[Identity, ...] = ()
    problem: str = ""  # why the scenario cannot be explored with this profile

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.draw.file,
            "profile": self.draw.profile,
            "seed": self.draw.seed,
            "runs": self.runs,
            "shrinking": self.shrinking,
            "seconds": round(self.seconds, 3),
            "newRules": list(self.new_rules),
            "findings": [list(identity) for identity in self.findings],
            "problem": self.problem,
        }

    @staticmethod
    def from_json(line: dict[str, Any]) -> Episode:
        """Raises KeyError, TypeError or ValueError if it is not an episode."""
        draw = EpisodeDraw(line["file"], line["profile"], line["seed"])
        found = tuple((rule, key) for rule, key in line["findings"])
        return Episode(
            draw, line["runs"], line["shrinking"], line["seconds"], tuple(line["newRules"]), found, line["problem"]
        )


def next_draw(files: Sequence[str], episodes: Sequence[Episode], seed: int, profile: str | None = None) -> EpisodeDraw:
    """The search after these episodes. `profile` is the one of all searches; None: it is drawn, too."""
    chance = Randomness(seed).stream("episode", str(len(episodes)))
    file = chance.choices(files, [weight(file, episodes) for file in files])[0]
    drawn = chance.choices(PROFILES, [DEFAULT_SHARE if name == DEFAULT_PROFILE else 1 for name in PROFILES])[0]
    return EpisodeDraw(file, profile or drawn, chance.getrandbits(31))


def weight(file: str, episodes: Sequence[Episode]) -> float:
    """The weight of a scenario. New ones have the most; then those that still reach new rules or have new findings.
    One that cannot be explored is hardly drawn again."""
    own = [episode for episode in episodes if episode.draw.file == file]
    if not own:
        return 100.0
    if own[-1].problem:
        return 0.01
    news = sum(len(episode.new_rules) + 10 * len(episode.findings) for episode in own[-3:])
    return (10 + news) / (1 + len(own))
