"""The draw of episodes: reproducible, prefers scenarios with news, reaches every scenario and profile."""

from __future__ import annotations

from collections import Counter

from kubesim.explore.campaign.episodes import Episode, EpisodeDraw, next_draw, weight
from kubesim.features import DEFAULT_PROFILE
from kubesim.features.table import PROFILES
from kubesim.values import replace

FILES = ("a.yaml", "b.yaml", "c.yaml")


def episode(file: str, new_rules: int = 0, findings: int = 0, problem: str = "") -> Episode:
    rules = tuple(f"rule {number}" for number in range(new_rules))
    found = tuple((f"invariant {number}", "") for number in range(findings))
    return Episode(EpisodeDraw(file, DEFAULT_PROFILE, 7), 96, 3, 4.5, rules, found, problem)


def drawn(count: int, seed: int = 0) -> list[EpisodeDraw]:
    """The draws of a campaign whose episodes have no news."""
    episodes: list[Episode] = []
    while len(episodes) < count:
        draw = next_draw(FILES, episodes, seed)
        episodes.append(replace(episode(draw.file), draw=draw))
    return [each.draw for each in episodes]


def test_a_campaign_that_continues_draws_the_same() -> None:
    assert drawn(20) == drawn(20)[:10] + drawn(20)[10:]
    assert drawn(20) != drawn(20, seed=1)


def test_every_scenario_and_profile_is_drawn() -> None:
    draws = drawn(200)
    assert {draw.file for draw in draws} == set(FILES)
    profiles = Counter(draw.profile for draw in draws)
    assert set(profiles) == set(PROFILES)
    assert profiles.most_common(1)[0][0] == DEFAULT_PROFILE
    assert len({draw.seed for draw in draws}) == len(draws)


def test_a_profile_that_is_given_is_kept() -> None:
    assert {next_draw(FILES, [episode("a.yaml")] * number, 0, "v1.30").profile for number in range(30)} == {"v1.30"}


def test_weights_prefer_scenarios_with_news() -> None:
    new = weight("a.yaml", [])
    searched = weight("a.yaml", [episode("a.yaml")])
    with_rules = weight("a.yaml", [episode("a.yaml", new_rules=30)])
    with_finding = weight("a.yaml", [episode("a.yaml", findings=1)])
    refused = weight("a.yaml", [episode("a.yaml", problem="runtime cni")])
    assert new > with_rules > searched > refused > 0
    assert with_finding > searched
    assert weight("a.yaml", [episode("b.yaml")] * 5) == new
    assert weight("a.yaml", [episode("a.yaml", new_rules=30)] + [episode("a.yaml")] * 9) < searched


def test_an_episode_is_a_line_of_json() -> None:
    whole = episode("a.yaml", new_rules=2, findings=1)
    assert Episode.from_json(whole.to_json()) == whole
