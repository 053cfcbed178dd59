"""Metrics of CRI calls and of CNI plugin executions, from their trace records.

Read-only calls (lists, states) are not in the trace and so not counted.

Mirrors: pkg/kubelet/kuberuntime/instrumented_services.go; containerd internal/cri/server/sandbox_run.go
setupPodNetwork, sandbox_stop.go teardownPodNetwork
"""

from __future__ import annotations

from kubesim.kubelet.metrics import definitions as d
from kubesim.trace import records as r

OPERATIONS = {
    "RunPodSandbox": "run_podsandbox",
    "StopPodSandbox": "stop_podsandbox",
    "RemovePodSandbox": "remove_podsandbox",
    "UpdatePodSandboxResources": "update_podsandbox_resources",
    "CreateContainer": "create_container",
    "StartContainer": "start_container",
    "StopContainer": "stop_container",
    "RemoveContainer": "remove_container",
    "UpdateContainerResources": "update_container",
    "ExecSync": "exec_sync",
    "PullImage": "pull_image",
    "RemoveImage": "remove_image",
}
_NETWORK_OPERATIONS = {"ADD": "set_up_pod", "DEL": "tear_down_pod"}


class RuntimeCalls:
    """CRI calls of one kubelet. `runtime` holds containerd's metrics, which outlive the kubelet."""

    def __init__(self, measured: d.Measurements, runtime: d.Measurements) -> None:
        self._measured = measured
        self._runtime = runtime
        self._network, self._network_operations = runtime, d.OF_CONTAINERD
        self._begun: dict[int, int] = {}  # record of a call -> its start time
        self._plugins: dict[
            str, dict[str, list[r.CniExec]]
        ] = {}  # pod -> command -> executions of the call in progress

    def begun(self, record: r.CriCall) -> None:
        self._begun[record.seq] = record.t

    def returned(self, record: r.CriReturn) -> None:
        operation, start = OPERATIONS[record.call], self._begun.pop(record.cause or 0, None)
        if start is None:
            return
        self._measured.count(d.OPERATIONS, operation)
        self._measured.observe(d.OPERATION, record.t - start, operation)
        if record.error:
            self._measured.count(d.OPERATION_ERRORS, operation)
        if record.call in ("RunPodSandbox", "StopPodSandbox"):
            for command, executions in self._plugins.pop(record.pod, {}).items():
                self._network_operation(_NETWORK_OPERATIONS[command], executions)

    def stepped(self, record: r.RuntimeStep) -> None:
        """With docker, the kubelet itself executes CNI plugins."""
        if record.runtime == "docker":
            self._network, self._network_operations = self._measured, d.OF_KUBELET

    def executed(self, record: r.CniExec) -> None:
        if record.command in _NETWORK_OPERATIONS:
            self._plugins.setdefault(record.pod, {}).setdefault(record.command, []).append(record)

    def _network_operation(self, operation: str, executions: list[r.CniExec]) -> None:
        """All plugins of all networks of a pod count as one operation."""
        total, duration, errors = self._network_operations
        self._network.count(total, operation)
        self._network.observe(duration, sum(execution.took for execution in executions), operation)
        if any(execution.error for execution in executions):
            self._network.count(errors, operation)
