"""Slow start: batches of 1, 2, 4, ... calls; none after a batch with a failure.

Adapted from: replica_set_test.go TestSlowStartBatch
"""

from __future__ import annotations

import pytest

from kubesim.cluster.controllers.replicaset.batches import slow_start_batch
from kubesim.errors import ApiError


@pytest.mark.parametrize(("allowed", "succeeded", "called"), [(0, 0, 1), (10, 10, 10), (5, 5, 7)])
def test_no_batch_follows_a_failure(allowed: int, succeeded: int, called: int) -> None:
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1
        if calls > allowed:
            raise ApiError(403, "Forbidden", "exceeded quota")

    count, error = slow_start_batch(10, 1, call)
    assert (count, calls) == (succeeded, called)
    assert (error is None) == (succeeded == 10)
