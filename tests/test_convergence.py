"""A runtime that often fails or hangs makes a node slow, but never wrong (`make bench` does it with 500 pods)."""

from __future__ import annotations

from kubesim.api.timestamps import SECOND
from tests.support.convergence import converge


def test_all_pods_become_ready_although_calls_fail_and_hang() -> None:
    found = converge(40, failing=0.1, hanging=0.05)
    assert found.failed > 20
    assert found.hung > 10


def test_without_faults_it_takes_seconds() -> None:
    found = converge(40, failing=0, hanging=0)
    assert found.took < 10 * SECOND
    assert (found.failed, found.hung) == (0, 0)
