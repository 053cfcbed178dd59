"""The class behind the fixture `kubesim`, without pytest."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kubesim.errors import InputError, UsageError
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.testing.driven.asking import ExpectationFailed
from kubesim.testing.driven.driven_cluster import DrivenCluster
from tests.support.played import container, pod
from tests.support.scenario_files import scenario_text


@pytest.fixture
def cluster() -> Iterator[DrivenCluster]:
    made = DrivenCluster(images=[{"name": "*", "present": True}])
    yield made
    made.close()


def test_time_advances_only_on_request(cluster: DrivenCluster) -> None:
    cluster.apply(pod("web"))
    assert (cluster.clock.now, cluster.get("pod/web")["status"]["phase"]) == (0, "Pending")
    cluster.clock.advance("1m30s")
    cluster.clock.advance(10)
    cluster.clock.advance(timedelta(milliseconds=500))
    assert (cluster.clock.now, cluster.get("pod/web")["status"]["phase"]) == (100.5, "Running")


def test_the_same_seed_gives_the_same_trace() -> None:
    def hashes(seed: int) -> list[str]:
        cluster = DrivenCluster(seed=seed)
        cluster.apply(pod("web"))
        cluster.wait_for(pod="web", condition="Ready")
        cluster.close()
        return [repr(record) for record in cluster.trace.records]

    assert hashes(1) == hashes(1) != hashes(2)


def test_objects_are_applied_patched_scaled_and_deleted(cluster: DrivenCluster) -> None:
    cluster.apply([pod("web"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    cluster.patch("pod/web", {"metadata": {"labels": {"app": "web"}}})
    assert cluster.get("pod/web")["metadata"]["labels"] == {"app": "web"}
    labels = {"app": "api"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container("main")]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api"}, "spec": spec})
    cluster.scale("Deployment/api", 3)
    cluster.wait_for(object="Deployment/api", field="status.readyReplicas", equals=3)
    assert len(cluster.all("pod")) == 4
    cluster.delete("pod/web", grace_period_seconds=0)
    cluster.wait_for(pod="web", gone=True)
    with pytest.raises(KeyError, match="there is no Pod web in namespace default"):
        cluster.get("pod/web")


def test_manifests_come_from_files_and_text(cluster: DrivenCluster, tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text("".join(f"---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}\n" for name in "ab"))
    cluster.apply(file)
    cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: c}\n")
    assert {"a", "b", "c"} <= {each["metadata"]["name"] for each in cluster.all("Namespace")}
    with pytest.raises(InputError, match=r"manifest: spec.containers\[0\].imag: unknown field; did you mean image"):
        cluster.apply({**pod("web"), "spec": {"containers": [{"name": "main", "imag": "x"}]}})
    with pytest.raises(InputError, match=r"absent.yaml: no such file"):
        cluster.apply("absent.yaml")


def test_an_expectation_is_checked_now_or_awaited(cluster: DrivenCluster) -> None:
    cluster.apply(pod("web"))
    with pytest.raises(ExpectationFailed, match="the phase is Pending"):
        cluster.expect(pod="web", phase="Running")
    assert cluster.clock.now == 0
    took = cluster.wait_for(pod="web", phase="Running")
    assert 0 < took == cluster.clock.now
    cluster.expect(pod="web", phase="Running")
    cluster.expect(pod="web", event="Killing", never=True, by="20s")
    assert cluster.clock.now == pytest.approx(took + 20, abs=0.001)


@pytest.mark.parametrize(
    ("expectation", "problem"),
    [
        ({"event": "Kiling", "never": True, "by": "5s"}, "event: unknown Event reason Kiling; did you mean Killing?"),
        ({"condition": "Redy=False", "never": True, "by": "5s"}, "condition: unknown condition of a Pod Redy"),
        ({"field": "status.phse", "equals": "Failed", "never": True, "by": "5s"}, "field: there is no field phse"),
        ({"call": "RunPodSandBox", "never": True, "by": "5s"}, "call: unknown call RunPodSandBox"),
    ],
)
def test_unknown_names_are_rejected(cluster: DrivenCluster, expectation: dict[str, Any], problem: str) -> None:
    cluster.apply(pod("web"))
    with pytest.raises(UsageError, match=re.escape(problem)):
        cluster.expect(pod="web", **expectation)


def test_a_count_of_0_is_awaited(cluster: DrivenCluster) -> None:
    cluster.apply(pod("web"))
    cluster.wait_for(pod="web", condition="Ready")
    before = cluster.clock.now
    cluster.wait_for(pod="web", field="metadata.deletionGracePeriodSeconds", equals=0, within="1m")
    assert cluster.clock.now == before


def test_a_failed_expectation_has_the_line_of_the_test_and_the_pods_output(cluster: DrivenCluster) -> None:
    cluster.apply({**pod("job"), "spec": {"containers": [container("main", "echo no database", "exit 1")]}})
    with pytest.raises(ExpectationFailed) as failed:
        cluster.wait_for(pod="job", phase="Succeeded", within="30s")
    failure = failed.value.failure
    assert (Path(failure.file).name, failure.line > 0, failure.pod) == (Path(__file__).name, True, "default/job")
    assert "no database" in str(failed.value)


def test_nodes_fail_and_recover(cluster: DrivenCluster) -> None:
    cluster.apply(pod("web"))
    cluster.wait_for(pod="web", condition="Ready")
    node = cluster.nodes["node-1"]
    node.stop("kubelet")
    with pytest.raises(StepFailed, match="the kubelet of node node-1 is not running"):
        node.stop("kubelet")
    node.start("kubelet")
    before = cluster.clock.now
    node.reboot(down_for="10s")
    assert cluster.clock.now == before + 10
    cluster.wait_for(pod="web", field="status.containerStatuses[0].restartCount", equals=1)
    node.cordon()
    assert cluster.get("node/node-1")["spec"]["unschedulable"] is True
    node.uncordon()
    node.pressure({"memory.available": "50Mi"})
    cluster.wait_for(object="Node/node-1", condition="MemoryPressure")


def test_any_step_of_a_scenario_can_be_run(cluster: DrivenCluster) -> None:
    cluster.apply(pod("web"))
    cluster.wait_for(pod="web", condition="Ready")
    cluster.step(kill={"pod": "web", "container": "main"})
    cluster.wait_for(pod="web", field="status.containerStatuses[0].restartCount", equals=1)
    assert {"Created", "Started"} <= {event["reason"] for event in cluster.events("pod/web")}
    assert cluster.events("pod/absent") == []


def test_the_trace_can_be_queried(cluster: DrivenCluster) -> None:
    cluster.apply({**pod("web"), "spec": {"containers": [container("main", "echo one", "echo two", "sleep 100")]}})
    cluster.wait_for(pod="web", phase="Running")
    trace = cluster.trace
    trace.assert_order("cri.call call=RunPodSandbox", "cri.call call=CreateContainer", "cri.call call=StartContainer")
    trace.assert_has("cri.call call=StartContainer pod=web", count=1)
    trace.assert_never("event reason=BackOff")
    assert trace.count("log") == 2
    assert 0 < trace.times("cri.call call=StartContainer")[0] < cluster.clock.now
    assert cluster.logs("web") == "one\ntwo\n"
    with pytest.raises(AssertionError, match="is not in its order"):
        trace.assert_order("cri.call call=StartContainer", "cri.call call=RunPodSandbox")
    with pytest.raises(AssertionError, match=r"no record matches 'cri\.call call=StopContainer'"):
        trace.assert_has("cri.call call=StopContainer")
    with pytest.raises(AssertionError, match="1 records match"):
        trace.assert_has("cri.call call=StartContainer", count=2)
    with pytest.raises(AssertionError, match="must never happen, but did at"):
        trace.assert_never("cri.call call=StartContainer")
    assert "user: create pods" in trace.timeline()


def test_a_coroutine_can_drive_it(cluster: DrivenCluster) -> None:
    async def main() -> float:
        cluster.apply(pod("web"))
        return cluster.wait_for(pod="web", condition="Ready")

    assert asyncio.run(main()) > 0


def test_it_starts_with_the_objects_of_a_file(tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(scenario_text("web"))
    cluster = DrivenCluster(str(base), nodes=[{"name": "alone"}])
    cluster.wait_for(pod="web", phase="Running")
    assert list(cluster.nodes) == ["alone"]
    cluster.close()
    base.write_text(scenario_text("web").replace("  expect:", "  steps: [{at: 1s, delete: {pod: web}}]\n  expect:"))
    with pytest.raises(UsageError, match=r"has steps; name it \*.scenario.yaml"):
        _ = DrivenCluster(str(base)).nodes


def test_names_without_a_kind_are_rejected(cluster: DrivenCluster) -> None:
    with pytest.raises(UsageError, match="write Kind/name or Kind/namespace/name"):
        cluster.get("web")
    with pytest.raises(UsageError, match="needs the pytest fixture"):
        cluster.snapshot()


def test_faults_are_added_and_removed(cluster: DrivenCluster) -> None:
    cluster.clock.advance(1)
    cluster.faults.add(operation="CreateContainer", pod="web", error="no space left on device", times=2)
    cluster.apply(pod("web"))
    cluster.wait_for(pod="web", event="Failed", message="no space left on device", count={"atLeast": 2})
    cluster.wait_for(pod="web", condition="Ready")
    cluster.faults.add(operation="StartContainer", hang=True)
    cluster.faults.clear()
    cluster.apply(pod("api"))
    cluster.wait_for(pod="api", condition="Ready", within="5s")
    cluster.trace.assert_has("fault pod=web", count=2)


def test_an_invalid_fault_is_rejected(cluster: DrivenCluster) -> None:
    with pytest.raises(ValueError, match="did you mean CreateContainer"):
        cluster.faults.add(operation="CreatContainer", error="x")
