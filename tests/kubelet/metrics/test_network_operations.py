"""containerd's network operations: all plugins of a pod's set-up or tear-down count as one."""

from __future__ import annotations

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.kubelet.metrics.calls import RuntimeCalls
from kubesim.kubelet.metrics.definitions import Measurements
from kubesim.kubelet.metrics.exposition import render_metrics
from kubesim.kubelet.metrics.sink import MetricsSink
from kubesim.trace import records as r
from tests.support.prometheus import Family, read_metrics

NAME = "containerd_cri_network_plugin_operations"


def measured(call: str, *executions: r.CniExec, error: str = "") -> dict[str, Family]:
    """A runtime call in which these plugins run."""
    agent, measurements = Measurements(), Measurements()
    calls = RuntimeCalls(agent, measurements)
    calls.begun(r.CriCall(seq=1, pod="default/a", call=call))
    for execution in executions:
        calls.executed(execution)
    calls.returned(r.CriReturn(seq=2, cause=1, pod="default/a", call=call, error=error))
    return dict(read_metrics(render_metrics((*agent.metrics(), *measurements.metrics()))))


def execution(plugin: str, command: str, took: int, error: str = "") -> r.CniExec:
    return r.CniExec(pod="default/a", plugin=plugin, command=command, took=took, error=error)


def test_a_set_up() -> None:
    found = measured("RunPodSandbox", execution("bridge", "ADD", 40_000), execution("portmap", "ADD", 20_000))
    assert found[f"{NAME}_total_total"].value(operation_type="set_up_pod") == 1
    assert found[f"{NAME}_duration_seconds_seconds"].value("_sum", operation_type="set_up_pod") == 0.06
    assert f"{NAME}_errors_total_total" not in found


def test_a_set_up_that_fails_is_torn_down_in_the_same_call() -> None:
    failed = execution("bridge", "ADD", 40_000, "no address left")
    found = measured("RunPodSandbox", failed, execution("bridge", "DEL", 10_000), error="no address left")
    assert found[f"{NAME}_errors_total_total"].value(operation_type="set_up_pod") == 1
    assert found[f"{NAME}_total_total"].value(operation_type="tear_down_pod") == 1
    assert len(found[f"{NAME}_errors_total_total"].samples) == 1


def test_a_sandbox_without_plugins_has_no_network_operation() -> None:
    assert not [name for name in measured("StopPodSandbox") if name.startswith(NAME)]


def test_with_docker_they_are_measured_by_the_kubelet() -> None:
    agent, runtime = Measurements(), Measurements()
    calls = RuntimeCalls(agent, runtime)
    calls.stepped(r.RuntimeStep(runtime="docker", step="create the sandbox container"))
    calls.begun(r.CriCall(seq=1, pod="default/a", call="RunPodSandbox"))
    calls.executed(execution("bridge", "ADD", 40_000))
    calls.returned(r.CriReturn(seq=2, cause=1, pod="default/a", call="RunPodSandbox"))
    found = dict(read_metrics(render_metrics(agent.metrics())))
    assert found["kubelet_network_plugin_operations_total"].value(operation_type="set_up_pod") == 1
    assert list(runtime.metrics()) == []


@pytest.mark.parametrize(
    ("text", "kubelet", "runtime"),
    [
        ("the kubelet is killed; its memory is lost", False, True),
        ("the kubelet v1.30 stops; containers keep running", False, True),
        ("the container runtime stops; its containers keep running", True, False),
        ("the node is powered off; everything on it stops", False, False),
        ("the kubelet starts and lists its sources and the runtime", True, True),
    ],
)
def test_measurements_end_with_their_process(text: str, kubelet: bool, runtime: bool) -> None:
    """Network operations are measured by containerd, which outlives the kubelet."""

    async def main() -> None:
        sink = MetricsSink(lambda pod: None, LoopClock())
        sink.record(r.CriCall(seq=1, node="n", pod="default/a", call="RunPodSandbox"))
        sink.record(r.CniExec(node="n", pod="default/a", plugin="bridge", command="ADD", took=40_000))
        sink.record(r.CriReturn(seq=2, node="n", cause=1, pod="default/a", call="RunPodSandbox"))
        sink.record(r.Note(node="n", text=text))
        found = {metric.name for metric in sink.metrics("n")}
        assert ("kubelet_runtime_operations_total" in found) == kubelet
        assert (f"{NAME}_total_total" in found) == runtime

    run_virtual(main)
