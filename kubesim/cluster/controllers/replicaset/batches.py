"""Slow start: calls in batches of 1, 2, 4, 8, ..., until a call fails.

An API server that rejects pods thus gets few requests.

Mirrors: pkg/controller/replicaset/replica_set.go slowStartBatch
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.errors import ApiError

INITIAL_BATCH_SIZE = 1


def slow_start_batch(count: int, initial_size: int, call: Callable[[], None]) -> tuple[int, ApiError | None]:
    """Returns the number of successful calls, and the first error. The batch with the error is completed."""
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
