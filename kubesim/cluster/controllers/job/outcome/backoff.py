"""The back-off before a Job replaces a failed pod: 10 s, doubled with each failure, at most 10 minutes.

All failures since the last success count, even simultaneous ones. The delay starts when the last failed pod ended, in
whole seconds.

Mirrors: pkg/controller/job/backoff_utils.go newBackoffRecord, getRemainingTime, getRemainingTimePerIndex
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.cluster.controllers.job.outcome.job_pods import (
    finished_time,
    index_failure_count,
    index_ignored_failure_count,
)
from kubesim.values import value_object

DEFAULT_BACKOFF = 10 * SECOND
MAX_BACKOFF = 600 * SECOND


@value_object
class BackoffRecord:
    failures_after_last_success: int = 0
    last_failure_time: int = 0


NO_FAILURES = BackoffRecord()


def new_backoff_record(old: BackoffRecord, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> BackoffRecord:
    """The back-off record after these pods have ended."""
    failure_times = sorted(finished_time(pod) for pod in failed)
    if not succeeded:
        if not failed:
            return old
        return BackoffRecord(old.failures_after_last_success + len(failed), failure_times[-1])
    last_success = max(finished_time(pod) for pod in succeeded)
    later = [time for time in failure_times if time > last_success]
    return BackoffRecord(len(later), later[-1]) if later else NO_FAILURES


def remaining_time(record: BackoffRecord, now: int) -> int:
    """The delay until a new pod may be created; 0: none."""
    failures = record.failures_after_last_success
    if failures == 0:
        return 0
    backoff = min(DEFAULT_BACKOFF << min(failures - 1, 10), MAX_BACKOFF)
    return max(0, record.last_failure_time + backoff - now)


def remaining_time_of_index(last_failed: Pod | None, now: int) -> int:
    """The delay with backoffLimitPerIndex, where each index has its own back-off. Ignored failures count too."""
    if last_failed is None:
        return 0
    failures = index_failure_count(last_failed) + index_ignored_failure_count(last_failed) + 1
    return remaining_time(BackoffRecord(failures, finished_time(last_failed)), now)
