"""Cases adapted from upstream's nestedpendingoperations_test.go, and the back-off of exponential_backoff.go."""

from __future__ import annotations

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.kubelet.volumes.reconcile.pending_operations import PendingOperations

MOUNT, UNMOUNT = "volume_mount", "volume_unmount"


def test_the_back_off_doubles_from_half_a_second_to_two_minutes_and_two_seconds() -> None:
    operations, now, delays = PendingOperations(), 0, []
    for _ in range(11):
        assert operations.start("v", "pod", MOUNT, now)
        operations.fail("v", "pod", now)
        again = operations.retry_after("v", "pod", MOUNT, now) or 0
        delays.append((again - now) / SECOND)
        now = again + 1
    assert delays == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122, 122]


def test_an_operation_may_be_retried_only_after_its_back_off() -> None:
    operations = PendingOperations()
    operations.start("v", "pod", MOUNT, 0)
    operations.fail("v", "pod", 0)
    for now, again in ((0, 500 * MILLISECOND), (500 * MILLISECOND, 500 * MILLISECOND), (500 * MILLISECOND + 1, None)):
        assert operations.retry_after("v", "pod", MOUNT, now) == again
        assert operations.start("v", "pod", MOUNT, now) == (again is None)


def test_a_successful_operation_is_forgotten_with_its_back_off() -> None:
    operations = PendingOperations()
    for now in (0, SECOND):
        operations.start("v", "pod", MOUNT, now)
        operations.fail("v", "pod", now)
        assert operations.retry_after("v", "pod", MOUNT, now) == now + 500 * MILLISECOND
        assert operations.start("v", "pod", MOUNT, now + SECOND - 1)
        operations.succeed("v", "pod")
        assert not operations.is_pending("v", "pod")


def test_another_operation_on_the_volume_does_not_wait_and_has_its_own_back_off() -> None:
    operations = PendingOperations()
    now = 0
    for _ in range(3):
        operations.start("v", "pod", MOUNT, now)
        operations.fail("v", "pod", now)
        now = (operations.retry_after("v", "pod", MOUNT, now) or 0) + 1
    now -= SECOND
    assert operations.retry_after("v", "pod", MOUNT, now) is not None
    assert operations.retry_after("v", "pod", UNMOUNT, now) is None
    assert operations.start("v", "pod", UNMOUNT, now)
    operations.fail("v", "pod", now)
    assert operations.retry_after("v", "pod", UNMOUNT, now) == now + 500 * MILLISECOND


def test_one_operation_at_a_time_for_a_volume_and_concurrent_ones_for_its_pods() -> None:
    operations = PendingOperations()
    assert operations.start("v", "a", MOUNT, 0)
    assert operations.start("v", "b", MOUNT, 0)
    assert not operations.start("v", "a", MOUNT, 0)
    assert not operations.start("v", "", MOUNT, 0)
    assert operations.is_pending("v", "")
    assert not operations.is_pending("v", "c")
    assert operations.start("other", "", MOUNT, 0)
    assert not operations.start("other", "a", MOUNT, 0)
