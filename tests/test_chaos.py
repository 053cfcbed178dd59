"""The agent, the runtime, the API connection and the whole node fail at random moments: nothing is lost, nothing is
doubled, nothing stays behind (see `Chaos`). A seed that fails is in the test's name and plays the same again."""

from __future__ import annotations

import pytest

from tests.support.chaos import run_chaos
from tests.support.soak import LONG, SOAK, rounds

pytestmark = LONG

SEEDS = rounds(200)
PODS = 200 if SOAK else 30


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_pod_that_is_wanted_runs_exactly_once_in_the_end(seed: int) -> None:
    run_chaos(seed, PODS)


def test_a_seed_gives_the_same_run_again() -> None:
    assert run_chaos(1, 10) == run_chaos(1, 10)
    assert run_chaos(1, 10) != run_chaos(2, 10)
