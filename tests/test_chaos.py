"""The agent, the runtime, the API connection and the whole node fail at random times: no pod is lost or runs twice, and
nothing remains (see `tests/support/chaos.py`). The name of a failed test has the seed, which reproduces the run.
"""

from __future__ import annotations

import pytest

from tests.support.chaos import run_chaos
from tests.support.soak import LONG, SOAK, rounds

pytestmark = LONG

SEEDS = rounds(200)
PODS = 200 if SOAK else 30


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_wanted_pod_runs_exactly_once_in_the_end(seed: int) -> None:
    run_chaos(seed, PODS)


def test_a_seed_reproduces_its_run() -> None:
    assert run_chaos(1, 10) == run_chaos(1, 10)
    assert run_chaos(1, 10) != run_chaos(2, 10)
