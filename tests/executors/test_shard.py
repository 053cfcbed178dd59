"""Shards: equal shares of some work, numbered from 1, also read from the environment of CI and of Indexed Jobs."""

from __future__ import annotations

import pytest

from kubesim.executors.shard import Shard, parse_shard


def test_shards_share_everything_once() -> None:
    items = list(range(11))
    shares = [Shard(number, 4).of(items) for number in (1, 2, 3, 4)]
    assert sorted(item for share in shares for item in share) == items
    assert {len(share) for share in shares} == {2, 3}


def test_a_shard_is_written_with_its_number_and_their_count() -> None:
    assert parse_shard("2/4", {}) == Shard(2, 4)
    assert (Shard(2, 4).label, Shard(2, 4).index) == ("2/4", 1)


@pytest.mark.parametrize(
    ("environment", "text", "shard"),
    [
        ({"JOB_COMPLETION_INDEX": "0"}, "auto/100", Shard(1, 100)),
        ({"JOB_COMPLETION_INDEX": "99"}, "auto/100", Shard(100, 100)),
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"}, "auto", Shard(1, 4)),
        ({"CIRCLE_NODE_INDEX": "3", "CIRCLE_NODE_TOTAL": "4"}, "auto", Shard(4, 4)),
        ({"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "2"}, "auto", Shard(1, 2)),
    ],
)
def test_auto_reads_the_environment(environment: dict[str, str], text: str, shard: Shard) -> None:
    assert parse_shard(text, environment) == shard


@pytest.mark.parametrize(
    ("environment", "text", "problem"),
    [
        ({}, "4", "'4' is not a shard, such as 2/4, auto or auto/4"),
        ({}, "two/4", "'two/4' is not a shard, such as 2/4, auto or auto/4"),
        ({}, "0/4", "0/4: shard 0 of 4 does not exist: the first is 1/N, the last N/N"),
        ({}, "5/4", "5/4: shard 5 of 4 does not exist"),
        ({}, "1/0", "1/0: shard 1 of 0 does not exist"),
        ({}, "1/1000000", "1/1000000: shard 1 of 1000000 does not exist"),
        ({}, "auto/4", "auto: the environment has none of JOB_COMPLETION_INDEX, CI_NODE_INDEX"),
        (
            {"JOB_COMPLETION_INDEX": "3"},
            "auto",
            "the environment has JOB_COMPLETION_INDEX, but not how many",
        ),
        ({"JOB_COMPLETION_INDEX": "9"}, "auto/4", "auto (JOB_COMPLETION_INDEX=9): shard 10 of 4 does not exist"),
        ({"JOB_COMPLETION_INDEX": "x"}, "auto/4", "shard 'x' of '4' (JOB_COMPLETION_INDEX) is no pair of numbers"),
    ],
)
def test_a_wrong_shard_is_explained(environment: dict[str, str], text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r".*") as raised:
        parse_shard(text, environment)
    assert str(raised.value).startswith(problem)
