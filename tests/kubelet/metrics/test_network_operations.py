"""containerd's network operations: all plugins of a pod's set-up or tear-down are one."""

from __future__ import annotations

from kubesim.kubelet.metrics.calls import RuntimeCalls
from kubesim.kubelet.metrics.definitions import Measurements
from kubesim.kubelet.metrics.exposition import render_metrics
from kubesim.trace import records as r
from tests.support.prometheus import Family, read_metrics

NAME = "containerd_cri_network_plugin_operations"


def measured(call: str, *executions: r.CniExec, error: str = "") -> dict[str, Family]:
    """A call of the runtime in which these plugins run."""
    measurements = Measurements()
    calls = RuntimeCalls(measurements)
    calls.begun(r.CriCall(seq=1, pod="default/a", call=call))
    for execution in executions:
        calls.executed(execution)
    calls.returned(r.CriReturn(seq=2, cause=1, pod="default/a", call=call, error=error))
    return dict(read_metrics(render_metrics(measurements.metrics())))


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
