"""The same results on a Ray cluster of which a node is killed as in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.errors import UsageError
from kubesim.executors.executor import PureTask
from kubesim.executors.ray_cluster import RayCluster
from kubesim.executors.same_process import SameProcess
from kubesim.explore.results.lines import lines_of
from kubesim.explore.search.exploration import Budget, Exploration, ExploreResult, SearchProgress, Settings
from kubesim.explore.subject import ExploreSubject
from kubesim.testing.cases import collect
from kubesim.testing.playing import play_case
from kubesim.testing.processes import run_cases
from kubesim.values import replace
from tests.support.pure_tasks import DiesAtFirst, Square, attempts
from tests.support.ray_nodes import RayNodes, ray_nodes
from tests.support.scenario_files import write_scenario

# Ray imports and starts what warns; its threads end with the process.
pytestmark = pytest.mark.filterwarnings("ignore")
SETTINGS = Settings(budget=Budget(runs=140))


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    with ray_nodes() as started:
        yield started


@pytest.fixture(scope="module")
def cluster(nodes: RayNodes) -> Iterator[RayCluster]:
    connected = RayCluster(nodes.address)
    yield connected
    connected.close()


@pytest.fixture(scope="module")
def subject() -> ExploreSubject:
    return ExploreSubject.of_file("scenarios/init-containers.yaml")


def comparable(result: ExploreResult) -> list[str]:
    result.seconds, result.jobs = 0.0, 0
    return list(lines_of(result))


def test_each_task_has_one_result_with_its_number(cluster: RayCluster) -> None:
    assert cluster.jobs == 2
    assert sorted(cluster.results([Square(n) for n in range(10)])) == [(n, n * n) for n in range(10)]


def test_a_task_whose_worker_dies_is_repeated_and_counted_once(cluster: RayCluster, tmp_path: Path) -> None:
    diary = str(tmp_path / "diary")
    tasks: list[PureTask[int]] = [Square(3), DiesAtFirst(7, diary)]
    assert sorted(cluster.results(tasks)) == [(0, 9), (1, 7)]
    assert len(attempts(diary)) == 2


def test_a_reader_that_stops_leaves_an_executor_that_works(cluster: RayCluster) -> None:
    running = cluster.results([Square(n) for n in range(10)])
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert sorted(cluster.results([Square(5)])) == [(0, 25)]


def test_the_tests_of_scenarios_have_the_same_results(cluster: RayCluster, tmp_path: Path) -> None:
    """`kubesim test --executor ray`."""
    write_scenario(tmp_path, "good")
    write_scenario(tmp_path, "bad", phase="Succeeded")
    cases = collect([str(tmp_path)], seeds=(1, 2)).cases
    results = [
        {number: replace(result, seconds=0.0) for number, result in run_cases(executor, cases, play_case)}
        for executor in (cluster, SameProcess())
    ]
    assert results[0] == results[1]
    assert [results[0][number].status for number in range(4)] == ["failed", "failed", "passed", "passed"]


@pytest.mark.violates_invariants
def test_a_search_has_the_same_results_if_a_node_is_killed(
    cluster: RayCluster, nodes: RayNodes, subject: ExploreSubject
) -> None:
    killed_at: list[int] = []

    def kill_once(progress: SearchProgress) -> None:
        if progress.played >= 40 and not killed_at:
            killed_at.append(progress.played)
            nodes.kill_second()

    found = Exploration(subject, SETTINGS, cluster, kill_once).explore()
    assert killed_at == [40]
    assert (found.runs, found.lost) == (140, 0)
    assert [finding.problem.rule for finding in found.findings] == ["invariant init-order"]
    assert comparable(found) == comparable(Exploration(subject, SETTINGS, SameProcess()).explore())


def test_an_address_without_a_cluster_is_one_line() -> None:
    """In a process of its own: this one is connected."""
    code = "from kubesim.executors.ray_cluster import RayCluster; RayCluster('127.0.0.1:9')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"{UsageError.__module__}.UsageError: --executor ray: no Ray cluster at '127.0.0.1:9': ")
    assert last.endswith("start one with: ray start --head, or set RAY_ADDRESS to HOST:PORT")
