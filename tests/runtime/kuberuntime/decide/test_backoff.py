"""Back-off: when a key waits, how the wait grows, when it is forgotten."""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.features import FeatureGates
from kubesim.runtime.kuberuntime.decide.backoff import Backoff, do_back_off, new_crash_loop_backoff
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus

T0 = 1_000_000 * SECOND

POD = Pod.from_json(
    {
        "metadata": {"name": "web", "namespace": "shop", "uid": "u1"},
        "spec": {"containers": [{"name": "c", "image": "app:1"}]},
    }
)
CONTAINER = POD.spec.containers[0]


def exited(finished_at: int | None) -> RuntimePodStatus:
    return RuntimePodStatus(
        "u1", containers=(ContainerRecord("containerd://1", "c", "exited", finished_at=finished_at),)
    )


def test_the_first_restart_is_immediate_and_the_second_waits_ten_seconds_after_the_exit() -> None:
    backoff = new_crash_loop_backoff()
    assert do_back_off(backoff, POD, CONTAINER, exited(T0), T0 + 1) is None
    waiting = do_back_off(backoff, POD, CONTAINER, exited(T0 + 5 * SECOND), T0 + 6 * SECOND)
    assert waiting is not None
    assert waiting.message == "back-off 10s restarting failed container=c pod=web_shop(u1)"
    assert waiting.event == "Back-off restarting failed container c in pod web_shop(u1)"
    assert str(waiting.error) == "CrashLoopBackOff"
    assert waiting.retry_at == T0 + 15 * SECOND
    assert do_back_off(backoff, POD, CONTAINER, exited(T0 + 5 * SECOND), T0 + 15 * SECOND) is None


def test_the_wait_doubles_up_to_the_maximum() -> None:
    backoff = new_crash_loop_backoff()
    waits = []
    now = T0
    for _ in range(8):
        backoff.next("k", now, now)
        waits.append(backoff.get("k") // SECOND)
        now += 400 * SECOND
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]


def test_an_exit_long_after_the_last_restart_starts_again_at_the_minimum() -> None:
    backoff = new_crash_loop_backoff()
    backoff.restore("k", 300 * SECOND, T0)
    assert backoff.is_in_back_off_since("k", T0 + 600 * SECOND, T0 + 601 * SECOND)
    assert not backoff.is_in_back_off_since("k", T0 + 600 * SECOND + 1, T0 + 601 * SECOND)
    backoff.next("k", T0 + 601 * SECOND, T0 + 602 * SECOND)
    assert backoff.get("k") == 10 * SECOND


def test_a_removed_key_starts_again_at_the_minimum() -> None:
    backoff = new_crash_loop_backoff()
    backoff.restore("k", 300 * SECOND, T0)
    backoff.drop("k")
    backoff.drop("never seen")
    assert not backoff.is_in_back_off_since("k", T0, T0)


def test_a_container_without_an_exited_record_starts_and_leaves_no_entry() -> None:
    backoff = new_crash_loop_backoff()
    assert do_back_off(backoff, POD, CONTAINER, RuntimePodStatus("u1"), T0) is None
    assert len(backoff) == 0


def test_an_exit_at_an_unknown_time_counts_as_long_ago() -> None:
    backoff = new_crash_loop_backoff()
    assert do_back_off(backoff, POD, CONTAINER, exited(None), T0) is None
    assert do_back_off(backoff, POD, CONTAINER, exited(None), T0 + 1) is None
    assert len(backoff) == 1


def test_a_new_image_does_not_wait() -> None:
    backoff = new_crash_loop_backoff()
    do_back_off(backoff, POD, CONTAINER, exited(T0), T0)
    assert do_back_off(backoff, POD, CONTAINER, exited(T0), T0 + SECOND) is not None
    assert do_back_off(backoff, POD, CONTAINER.changed(image="app:2"), exited(T0), T0 + SECOND) is None


def test_image_pulls_count_from_the_last_failure() -> None:
    backoff = Backoff(10 * SECOND, 300 * SECOND)
    backoff.next("k", T0, T0)
    assert backoff.is_in_back_off_since_update("k", T0 + 10 * SECOND - 1)
    assert not backoff.is_in_back_off_since_update("k", T0 + 10 * SECOND)
    backoff.gc(T0 + 600 * SECOND)
    assert len(backoff) == 1
    backoff.gc(T0 + 600 * SECOND + 1)
    assert len(backoff) == 0


def test_a_small_configured_maximum_lowers_the_first_wait_too() -> None:
    assert (new_crash_loop_backoff(5 * SECOND).initial, new_crash_loop_backoff(60 * SECOND).initial) == (
        5 * SECOND,
        10 * SECOND,
    )
    reduced = FeatureGates({"ReduceDefaultCrashLoopBackOffDecay": True, "KubeletCrashLoopBackOffMax": False})
    backoff = new_crash_loop_backoff(gates=reduced)
    assert (backoff.initial, backoff.maximum, backoff.reset_after) == (SECOND, 60 * SECOND, 600 * SECOND)
