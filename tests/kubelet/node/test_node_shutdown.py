"""Cases from upstream's pkg/kubelet/nodeshutdown: nodeshutdown_manager_test.go Test_migrateConfig and
Test_groupByPriority, nodeshutdown_manager_linux_test.go TestManager; and the times of the groups."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual, wake
from kubesim.concurrency import TaskSet
from kubesim.errors import SyncError
from kubesim.features import FeatureGates
from kubesim.kubelet.node.node_shutdown import (
    NodeShutdown,
    ShutdownGracePeriod,
    group_by_priority,
    shutdown_periods,
    terminated_status,
)
from kubesim.podworkers.syncer import SyncContext
from kubesim.podworkers.updates import PodStatusFn

CRITICAL = 2_000_000_000
HIGHEST_OF_USERS = 1_000_000_000
MESSAGE = "Pod was terminated in response to imminent node shutdown."


def make_pod(name: str, priority: int = 0, grace: int | None = None) -> Pod:
    spec: dict[str, Any] = {"priority": priority, "containers": [{"name": "c"}]}
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    return Pod.from_json({"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec})


@pytest.mark.parametrize(
    ("requested", "critical", "expected"),
    [(300, 120, [(0, 180), (CRITICAL, 120)]), (100, 0, [(0, 100), (CRITICAL, 0)]), (0, 0, []), (1, 100, [])],
)
def test_two_groups_from_the_simple_settings(requested: int, critical: int, expected: list[tuple[int, int]]) -> None:
    periods = shutdown_periods(requested * SECOND, critical * SECOND)
    assert [(period.priority, period.grace_period_s) for period in periods] == expected


def grouped(periods: tuple[ShutdownGracePeriod, ...], *pods: Pod) -> list[list[str]]:
    return [[pod.metadata.name for pod in group.pods] for group in group_by_priority(periods, pods)]


def test_a_pod_belongs_to_the_group_at_or_below_its_priority() -> None:
    plain = shutdown_periods(300 * SECOND, 120 * SECOND)
    pods = make_pod("normal"), make_pod("highest", HIGHEST_OF_USERS), make_pod("critical", CRITICAL)
    assert grouped(plain, *pods) == [["normal", "highest"], ["critical"]]
    given = [ShutdownGracePeriod(priority, 10 * priority) for priority in (3, 1, 4, 2)]
    periods = shutdown_periods(0, 0, given)
    assert [period.priority for period in periods] == [1, 2, 3, 4]
    pods_of_all = [make_pod(str(priority), priority) for priority in range(6)]
    assert grouped(periods, *pods_of_all) == [["0", "1"], ["2"], ["3"], ["4", "5"]]


def test_the_status_of_a_pod_stopped_by_the_shutdown() -> None:
    status = terminated_status(7)(PodStatus(phase="Running"))
    assert (status.phase, status.reason, status.message) == ("Failed", "Terminated", MESSAGE)
    (condition,) = status.conditions
    assert (condition.type, condition.status, condition.reason) == ("DisruptionTarget", "True", "TerminationByKubelet")
    assert (condition.message, condition.observed_generation) == (MESSAGE, 7)
    assert terminated_status(7)(PodStatus(phase="Succeeded")).phase == "Succeeded"


class Node:
    """Pods that stop slowly, and volumes that are unmounted slowly."""

    def __init__(
        self, clock: LoopClock, takes: dict[str, int], pods: list[Pod], unmounting: dict[str, int] | None = None
    ) -> None:
        self.clock = clock
        self.takes = takes
        self.unmounting = unmounting or {}
        self.pods = pods
        self.reported: list[tuple[int, str]] = []

    async def kill(
        self,
        pod: Pod,
        *,
        evict: bool = False,
        grace_period_override: int | None = None,
        status_fn: PodStatusFn | None = None,
    ) -> None:
        assert not evict
        name = pod.metadata.name
        self.note(f"{name} has {grace_period_override} s")
        if name not in self.takes:
            raise SyncError("timeout waiting to kill pod")
        await self.clock.sleep(self.takes[name] * SECOND)

    async def unmount(self, context: SyncContext, pod: Pod) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.clock.call_at(self.clock.now() + self.unmounting.get(pod.metadata.name, 0) * SECOND, wake, done, None)
        await context.race(done)

    def note(self, text: str) -> None:
        self.reported.append((self.clock.now() // SECOND, text))

    def node_event(self, type: str, reason: str, message: str) -> None:
        self.note(f"{type} {reason} {message}")

    def event(
        self,
        pod: Pod,
        type: str,
        reason: str,
        message: str,
        container: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        raise AssertionError("nothing is reported about pods")


def shut_down(
    periods: tuple[ShutdownGracePeriod, ...],
    pods: list[Pod],
    takes: dict[str, int],
    unmounting: dict[str, int] | None = None,
) -> list[tuple[int, str]]:
    async def main() -> list[tuple[int, str]]:
        clock = LoopClock(0)
        node = Node(clock, takes, pods, unmounting)
        async with TaskSet() as tasks:
            shutdown = NodeShutdown(
                clock,
                tasks,
                periods,
                node.kill,
                node.unmount,
                node,
                lambda: node.pods,
                lambda: node.note("the node is not ready"),
            )
            assert shutdown.admit(pods[0]) == ("", "")
            await shutdown.shut_down()
            node.note("done")
            refusal = ("NodeShutdown", "Pod was rejected as the node is shutting down.")
            assert shutdown.admit(pods[0]) == refusal
            assert shutdown.problem() == "node is shutting down"
            shutdown.cancel()
            assert shutdown.admit(pods[0]) == ("", "")
            assert shutdown.problem() == ""
        return node.reported[:-1]

    return run_virtual(main)


FIRST = [(0, "Normal NodeShutdown Shutdown manager detected shutdown event"), (0, "the node is not ready")]


def test_groups_are_stopped_in_sequence_each_when_the_previous_one_has_ended() -> None:
    pods = [make_pod("normal", grace=5), make_pod("critical", CRITICAL), make_pod("stuck", grace=120)]
    reported = shut_down(shutdown_periods(30 * SECOND, 10 * SECOND), pods, {"normal": 2, "critical": 3, "stuck": 60})
    assert reported == [
        *FIRST,
        (0, "normal has 5 s"),  # its own grace period, which is shorter
        (0, "stuck has 20 s"),
        (20, "critical has 10 s"),  # the time of the group has ended
        (23, "done"),
    ]


def test_the_next_group_waits_until_volumes_are_unmounted_but_at_most_for_the_time_of_the_group() -> None:
    pods = [make_pod("normal", grace=5), make_pod("critical", CRITICAL)]
    for takes, begins in ((4, 6), (60, 20)):
        reported = shut_down(
            shutdown_periods(30 * SECOND, 10 * SECOND), pods, {"normal": 2, "critical": 3}, {"normal": takes}
        )
        assert reported[2:] == [(0, "normal has 5 s"), (begins, "critical has 10 s"), (begins + 3, "done")]


def test_a_group_without_pods_is_skipped() -> None:
    reported = shut_down(shutdown_periods(30 * SECOND, 10 * SECOND), [make_pod("critical", CRITICAL)], {"critical": 1})
    assert reported == [*FIRST, (0, "critical has 10 s"), (1, "done")]


def test_a_failed_kill_delays_nothing() -> None:
    assert shut_down(shutdown_periods(30 * SECOND, 0), [make_pod("broken")], {})[-1] == (0, "done")


def test_without_settings_or_without_the_gate_there_is_no_graceful_shutdown() -> None:
    async def main() -> None:
        clock = LoopClock(0)
        node = Node(clock, {}, [])
        periods = shutdown_periods(30 * SECOND, 0)
        off = FeatureGates({"GracefulNodeShutdown": False})
        async with TaskSet() as tasks:
            for given, gates, configured in (
                (periods, FeatureGates(), True),
                (periods, off, False),
                ((), FeatureGates(), False),
            ):
                made = NodeShutdown(clock, tasks, given, node.kill, node.unmount, node, list, lambda: None, gates)
                assert made.is_configured == configured

    run_virtual(main)
