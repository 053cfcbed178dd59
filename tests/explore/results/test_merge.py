"""The results of shards, put together, are those of one search; also after they were written and read."""

from __future__ import annotations

import json

import pytest

from kubesim.executors.same_process import SameProcess
from kubesim.executors.shard import Shard
from kubesim.explore.results.lines import ReadResults, lines_of, read_lines, search_id
from kubesim.explore.results.merge import merge
from kubesim.explore.search.exploration import Budget, Exploration, ExploreResult, Settings
from kubesim.explore.subject import ExploreSubject

pytestmark = pytest.mark.violates_invariants
RUNS = 96
SHARDS = 4


def search(shard: tuple[int, int]) -> ExploreResult:
    subject = ExploreSubject.of_file("scenarios/init-containers.yaml")
    return Exploration(subject, Settings(budget=Budget(runs=RUNS), shard=shard), SameProcess()).explore()


@pytest.fixture(scope="module")
def whole() -> ExploreResult:
    return search((0, 1))


@pytest.fixture(scope="module")
def shards() -> list[ExploreResult]:
    return [search((index, SHARDS)) for index in range(SHARDS)]


def comparable(result: ExploreResult) -> list[str]:
    """Everything but the time it took, and on how many processes."""
    lines = [json.loads(line) for line in lines_of(result)]
    return [json.dumps({name: line[name] for name in line if name not in ("seconds", "jobs")}) for line in lines]


def read(*texts: str) -> ReadResults:
    found = ReadResults()
    read_lines([line for text in texts for line in text.split("\n")], found)
    return found


def text_of(result: ExploreResult) -> str:
    return "".join(f"{line}\n" for line in lines_of(result))


def test_four_shards_are_one_search(whole: ExploreResult, shards: list[ExploreResult]) -> None:
    assert [shard.runs for shard in shards] == [RUNS // SHARDS] * SHARDS
    together = merge(shards)
    assert comparable(together) == comparable(whole)
    assert [finding.problem.rule for finding in together.findings] == ["invariant init-order"]
    assert together.rules == whole.rules
    assert len(whole.rules) > 50


def test_read_results_are_those_that_were_written(whole: ExploreResult) -> None:
    found = read(text_of(whole))
    assert list(found.complete) == [(search_id(whole), Shard(1, 1))]
    [result] = found.complete.values()
    assert list(lines_of(result)) == list(lines_of(whole))
    assert [finding.run for finding in result.findings] == [finding.run for finding in whole.findings]


def test_the_lines_of_all_shards_may_be_in_one_text(shards: list[ExploreResult], whole: ExploreResult) -> None:
    """As kubectl logs prints them for all pods of a Job, in any order."""
    found = read(*(text_of(shard) for shard in reversed(shards)))
    assert sorted(shard.label for _, shard in found.complete) == ["1/4", "2/4", "3/4", "4/4"]
    assert {search for search, _ in found.complete} == {search_id(whole)}
    complete = {shard.number: result for (_, shard), result in found.complete.items()}
    assert comparable(merge([complete[number] for number in (1, 2, 3, 4)])) == comparable(whole)


def test_a_shard_that_is_there_twice_counts_once(shards: list[ExploreResult]) -> None:
    found = read(text_of(shards[0]), text_of(shards[0]))
    [result] = found.complete.values()
    assert result.runs == RUNS // SHARDS


def test_a_complete_shard_replaces_an_interrupted_one(shards: list[ExploreResult]) -> None:
    lines = text_of(shards[0])
    interrupted = lines.replace('"interrupted": false', '"interrupted": true')
    assert interrupted != lines
    for texts in ((interrupted, lines), (lines, interrupted)):
        [result] = read(*texts).complete.values()
        assert not result.interrupted


def test_a_shard_without_its_end_is_incomplete(shards: list[ExploreResult]) -> None:
    """Its process was killed."""
    begun = text_of(shards[1])[:-30]
    found = read(text_of(shards[0]), begun)
    assert [shard.label for _, shard in found.complete] == ["1/4"]
    assert [shard.label for _, shard in found.incomplete] == ["2/4"]
    assert found.other_lines == 1
    assert not read(begun, text_of(shards[1])).incomplete


def test_lines_that_are_no_results_are_counted() -> None:
    found = read("kubesim: a warning\n\n[1, 2]\n{}\n")
    assert (found.other_lines, found.complete, found.incomplete) == (3, {}, set())


def test_another_seed_is_another_search(whole: ExploreResult) -> None:
    other = ExploreResult(whole.subject, Settings(budget=Budget(runs=RUNS), seed=1), whole.reference)
    assert search_id(other) != search_id(whole)
