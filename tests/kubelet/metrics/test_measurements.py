"""The kubelet's histograms after a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import MemorySink
from kubesim.trace import records as r
from tests.support.played import container, pod
from tests.support.prometheus import Family, read_metrics
from tests.support.ticks import ticks

SCENARIOS = Path(__file__).parents[3] / "scenarios"
ONE_SECOND = {"name": "busybox:1", "pullTime": "1s"}


def measured(
    *pods: dict[str, Any], every_tick: bool = False, **spec: Any
) -> tuple[Mapping[str, Family], list[r.Record]]:
    whole = {"images": [{"name": "*", "present": True}], "duration": "60s", "objects": list(pods), **spec}
    scenario = Scenario.model_validate({"metadata": {"name": "s"}, "spec": whole})
    sink = MemorySink()
    with ticks(every_tick=every_tick):
        return read_metrics(run_scenario(scenario, sinks=(sink,), metrics=True).metrics), sink.records


def of_kind(records: list[r.Record], kind: type[r.Record]) -> list[Any]:
    return [record for record in records if isinstance(record, kind)]


@pytest.mark.parametrize("name", ["hello-pod", "kubelet-restart", "missing-image", "two-nodes", "static-pod"])
def test_the_output_can_be_parsed(name: str) -> None:
    assert len(read_metrics(run_scenario(load_scenario(str(SCENARIOS / f"{name}.yaml")), metrics=True).metrics)) > 15


def test_a_run_without_metrics_has_none() -> None:
    assert run_scenario(load_scenario(str(SCENARIOS / "hello-pod.yaml"))).metrics == ""


def test_measuring_changes_nothing() -> None:
    scenario = load_scenario(str(SCENARIOS / "probes.yaml"))
    plain, observed = MemorySink(), MemorySink()
    run_scenario(scenario, sinks=(plain,))
    run_scenario(scenario, sinks=(observed,), metrics=True)
    assert plain.records == observed.records


def test_a_worker_is_measured_from_its_update_to_the_end_of_the_sync() -> None:
    metrics, records = measured(pod("a"))
    [begin] = [record for record in of_kind(records, r.WorkerUpdate) if record.update == "create"]
    end = of_kind(records, r.SyncEnd)[0]
    workers = metrics["kubelet_pod_worker_duration_seconds"]
    assert workers.value("_count", operation_type="create") == 1
    assert workers.value("_sum", operation_type="create") == (end.t - begin.t) / 1_000_000
    assert metrics["kubelet_pod_worker_start_duration_seconds"].value("_count") == 1


def test_a_pending_update_keeps_the_time_of_the_oldest() -> None:
    """During a slow pull, the PLEG and two changed labels request a sync: the first request counts."""
    changes = [
        {"at": at, "patch": {"pod": "a", "patch": {"metadata": {"labels": {"changed": at}}}}} for at in ("10s", "20s")
    ]
    metrics, records = measured(pod("a"), images=[{"name": "busybox:1", "pullTime": "30s"}], steps=changes)
    waiting = of_kind(records, r.WorkerUpdate)[1:5]
    assert [record.update for record in waiting] == ["sync", "update", "update", "sync"]
    workers = metrics["kubelet_pod_worker_duration_seconds"]
    assert workers.value("_count", operation_type="update") == 1
    taken_up = of_kind(records, r.SyncEnd)[1]
    assert workers.value("_sum", operation_type="update") == (taken_up.t - waiting[0].t) / 1_000_000


def test_a_start_is_measured_twice_as_in_the_kubelet() -> None:
    """Once when the pod has no status yet, and once when its phase becomes Running."""
    metrics, records = measured(pod("a"), images=[ONE_SECOND])
    [seen] = [record.t for record in of_kind(records, r.ConfigUpdate) if record.op == "ADD"]
    runs = next(record.t for record in of_kind(records, r.StatusSet) if record.phase == "Running")
    starts = metrics["kubelet_pod_start_duration_seconds"]
    assert starts.value("_count") == 2
    assert starts.value("_bucket", le="0.5") == 1
    first = next(record.t for record in of_kind(records, r.StatusSet))
    assert starts.value("_sum") == pytest.approx((runs - seen + first - seen) / 1_000_000)


def test_the_sli_excludes_pulls() -> None:
    metrics, records = measured(pod("a"), images=[ONE_SECOND])
    total = metrics["kubelet_pod_start_total_duration_seconds"].value("_sum")
    running = next(record for record in of_kind(records, r.ApiWrite) if record.summary.get("phase") == "Running")
    received = next(record.t for record in of_kind(records, r.ConfigUpdate) if record.seq > running.seq)
    assert total == received / 1_000_000  # the pod was created at 0
    assert metrics["kubelet_pod_start_sli_duration_seconds"].value("_sum") == pytest.approx(total - 1)
    pulls = metrics["kubelet_image_pull_duration_seconds"]
    assert pulls.value("_sum", image_size_in_bytes="0-10MB") == 1


def test_the_sli_excludes_a_single_init_container() -> None:
    metrics, _ = measured(pod("a", initContainers=[container("init", "sleep 7")]))
    total = metrics["kubelet_pod_start_total_duration_seconds"].value("_sum")
    assert metrics["kubelet_pod_start_sli_duration_seconds"].value("_sum") == pytest.approx(total - 7)


def test_the_time_of_an_init_container_is_lost_when_the_next_one_starts() -> None:
    inits = [container("one", "sleep 7"), container("two", "sleep 5")]
    metrics, _ = measured(pod("a", initContainers=inits))
    total = metrics["kubelet_pod_start_total_duration_seconds"].value("_sum")
    assert total > 12
    assert metrics["kubelet_pod_start_sli_duration_seconds"].value("_sum") == total


def test_a_pod_with_storage_is_not_counted_in_the_sli() -> None:
    stateful = pod("a", volumes=[{"name": "v", "hostPath": {"path": "/tmp", "type": "DirectoryOrCreate"}}])
    metrics, _ = measured(stateful)
    assert metrics["kubelet_pod_start_total_duration_seconds"].value("_count") == 1
    assert "kubelet_pod_start_sli_duration_seconds" not in metrics


def test_calls_of_the_runtime() -> None:
    metrics, records = measured(pod("a"), nodes=[{"name": "node-1", "sandboxErrors": ["no address"]}])
    calls = [record for record in of_kind(records, r.CriCall) if record.call == "RunPodSandbox"]
    returns = [record for record in of_kind(records, r.CriReturn) if record.call == "RunPodSandbox"]
    operation = {"operation_type": "run_podsandbox"}
    assert metrics["kubelet_runtime_operations_total"].value(**operation) == 2
    assert metrics["kubelet_runtime_operations_errors_total"].value(**operation) == 1
    took = sum(end.t - begin.t for begin, end in zip(calls, returns, strict=True)) / 1_000_000
    assert metrics["kubelet_runtime_operations_duration_seconds"].value("_sum", **operation) == pytest.approx(took)


def test_a_killed_kubelet_loses_its_measurements() -> None:
    steps = [{"at": "30s", "stop": {"what": "kubelet"}}, {"at": "40s", "start": {"what": "kubelet"}}]
    metrics, _ = measured(pod("a"), steps=steps)
    assert "kubelet_runtime_operations_total" not in metrics  # nothing was left to do
    assert "kubelet_pod_start_total_duration_seconds" not in metrics  # the pod had started earlier
    assert metrics["kubelet_pod_worker_start_duration_seconds"].value("_count") == 1


def test_a_kubelet_of_another_version_starts_with_no_measurements() -> None:
    """From v1.30 to v1.36 the container is restarted: the new kubelet has done nothing else."""
    metrics, _ = measured(pod("a"), profile="v1.30", steps=[{"at": "30s", "upgrade": {"kubelet": "v1.36"}}])
    operations = metrics["kubelet_runtime_operations_total"]
    assert operations.value(operation_type="start_container") == 1
    assert "run_podsandbox" not in str(operations.samples)
    assert metrics["kubelet_pod_worker_start_duration_seconds"].value("_count") == 1


def test_skipped_ticks_and_resyncs_are_counted() -> None:
    skipped, _ = measured(pod("a"), pod("b"), duration="10m")
    executed, _ = measured(pod("a"), pod("b"), duration="10m", every_tick=True)
    names = ("kubelet_pleg_relist_duration_seconds", "kubelet_pleg_relist_interval_seconds")
    for name in names:
        assert skipped[name] == executed[name]
        assert skipped[name].value("_count") > 590
    resyncs = skipped["kubelet_pod_worker_duration_seconds"]
    assert resyncs.value("_count", operation_type="sync") > 2 * 6
    assert resyncs == executed["kubelet_pod_worker_duration_seconds"]
