"""Cases from upstream's pkg/kubelet/logs/container_log_manager_test.go: TestGetAllLogs, TestRotateLogs,
TestCleanupUnusedLog, TestRemoveExcessLog; and a container that writes too much."""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.kubelet.containers.log_rotation import LogRotatePolicy, filter_unused_logs, get_all_logs, plan_rotation
from kubesim.scenario.load.loader import parse_scenario
from tests.support.ticks import ticks

NOW = parse_time("2026-03-04T05:06:07Z")


def test_log_output_that_remains_readable() -> None:
    rotated = [
        "log.11111111-111111.gz",
        "log.00000000-000000.gz",
        "log.19880620-000000",  # compressed already
        "log.19880620-000000.gz",
        "log.20180101-000000",
        "log.20180101-000000.tmp",
    ]
    expected = [
        "log.00000000-000000.gz",
        "log.11111111-111111.gz",
        "log.19880620-000000.gz",
        "log.20180101-000000",
        "log",
    ]
    assert get_all_logs("log", rotated) == expected
    assert filter_unused_logs(rotated)[1] == ["log.19880620-000000", "log.20180101-000000.tmp"]


@pytest.mark.parametrize(
    ("max_files", "removed"),
    [(2, ["log.1", "log.2", "log.3", "log.4"]), (3, ["log.1", "log.2", "log.3"]), (6, [])],
)
def test_the_oldest_logs_are_removed(max_files: int, removed: list[str]) -> None:
    plan = plan_rotation("log", ["log.3", "log.1", "log.2", "log.4"], LogRotatePolicy(max_files=max_files), NOW)
    assert list(plan.remove) == removed
    assert list(plan.compress) == [name for name in ("log.1", "log.2", "log.3", "log.4") if name not in removed]


def test_a_rotation() -> None:
    rotated = ["log.00000000-000001", "log.00000000-000000.gz"]
    plan = plan_rotation("log", rotated, LogRotatePolicy(max_files=3), NOW)
    assert plan.remove == ("log.00000000-000000.gz",)
    assert plan.compress == ("log.00000000-000001",)
    assert plan.rename_to == "log.20260304-050607"


SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: chatty}
spec:
  kubeletConfiguration: {containerLogMaxSize: 1Ki, containerLogMaxFiles: 3}
  images: [{name: "busybox:*", present: true}]
---
apiVersion: v1
kind: Pod
metadata: {name: chatty}
spec:
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, "while true; do echo a line of a certain length that is written again and again; sleep 1; done"]
"""


@pytest.mark.parametrize("every_tick", [False, True])
def test_the_logs_of_a_container_that_writes_too_much(every_tick: bool) -> None:
    async def main() -> dict[str, int]:
        async with TaskSet() as tasks:
            simulation = Simulation(parse_scenario(SCENARIO, "test"), 1, tasks)
            node = simulation.nodes["node-1"]
            node.start()
            await simulation.clock.sleep(10 * SECOND)
            simulation.world.apply(simulation.scenario.spec.objects[0])
            await simulation.clock.sleep(120 * SECOND)
            (info,) = await node.runtime.list_containers()
            log = f"/var/log/pods/default_chatty_{info.pod_uid}/main/0.log"
            files = {name.removeprefix(log): node.log_files.size(name) for name in (log, *node.log_files.rotated(log))}
            await node.close()
            return files

    with ticks(every_tick=every_tick):
        files = run_virtual(main)
    assert len(files) == 3
    current, older, newest = sorted(files)
    assert current == ""
    assert older.endswith(".gz")
    assert not newest.endswith(".gz")
    assert files[newest] >= 1024 > files[older]
