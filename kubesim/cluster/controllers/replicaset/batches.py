"""Slow start: many calls in batches of 1, 2, 4, 8 ..., until one of a batch fails.

An API server that rejects pods gets one request, not five hundred.

Mirrors: pkg/controller/replicaset/replica_set.go slowStartBatch
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.errors import ApiError

INITIAL_BATCH_SIZE = 1


def slow_start_batch(count: int, initial_size: int, call: Callable[[], None]) -> tuple[int, ApiError | None]:
    """How many calls succeeded, and the first failure. A batch is finished even if one of its calls fails."""
    succeeded, remaining = 0, count
    size = min(remaining, initial_size)
    while size > 0:
        failure: ApiError | None = None
        for _ in range(size):
            try:
                call()
                succeeded += 1
            except ApiError as error:
                failure = failure or error
        if failure is not None:
            return succeeded, failure
        remaining -= size
        size = min(2 * size, remaining)
    return succeeded, None
