"""Settings of containerd's CRI plugin in runs with real plugins, and the steps of its sandboxes."""

from __future__ import annotations

from kubesim.trace.records import CniExec, RuntimeStep
from tests.support.machine.cni_runs import Run
from tests.support.prometheus import read_metrics


def added(run: Run) -> list[str]:
    return [each.plugin for each in run.executions() if each.command == "ADD"]


def test_networks_are_attached_concurrently_unless_a_setting_disables_it() -> None:
    assert added(Run()) == ["bridge", "loopback", "portmap", "bandwidth"]  # the last goroutine runs first
    assert added(Run("cni: {setupSerially: true}")) == ["loopback", "bridge", "portmap", "bandwidth"]


def test_concurrent_attachment_always_gives_the_same_trace() -> None:
    first, second = Run(pods=3), Run(pods=3)
    assert first.result.trace_hash == second.result.trace_hash


def test_with_internal_loopback_no_plugin_sets_it_up() -> None:
    run = Run("cni: {useInternalLoopback: true}")
    assert added(run) == ["bridge", "portmap", "bandwidth"]
    [picture] = run.result.networks
    [pod] = picture.pods.values()
    [loopback] = [link for link in pod["links"] if link["name"] == "lo"]
    assert loopback["up"]


def test_a_controller_fault_is_after_the_network_which_is_torn_down() -> None:
    run = Run("nodes: [{name: node-1, sandboxFaults: [{step: task, error: no shim, times: 1}]}]")
    [message] = run.messages("FailedCreatePodSandBox")
    assert message.endswith('": failed to create containerd task: no shim')
    commands = [each.command for each in run.sink.records if isinstance(each, CniExec)]
    assert commands[:8] == ["ADD"] * 4 + ["DEL"] * 4
    assert run.ips() == {"default/pod-0": "10.88.0.3"}


def test_the_steps_are_details_of_the_trace() -> None:
    run = Run(details=True)
    steps = [each.step for each in run.sink.records if isinstance(each, RuntimeStep)]
    assert steps.index("set up the network") < steps.index("create the task") < steps.index("RunPodSandbox")


MAPPED = """
  profile: v1.30
  duration: 25s
  featureGates: {UserNamespacesSupport: true}
  nodes: [{name: node-1, userNamespaces: true, sandboxFaults: [{step: STEP, pod: mapped, error: refused, times: 1}]}]
  objects:
    - apiVersion: v1
      kind: Pod
      metadata: {name: mapped}
      spec: {hostUsers: false, containers: [{name: main, image: "nginx:1"}]}
"""


def mapped(step: str) -> list[str]:
    """The plugin commands for a pod with a user namespace, in containerd 1.7, until it is attached permanently."""
    return [each.command for each in Run(MAPPED.strip().replace("STEP", step), pods=0).executions()]


def test_containerd_1_creates_the_task_of_a_user_namespace_before_the_network() -> None:
    assert mapped("task") == ["ADD"] * 4
    assert mapped("start") == ["ADD"] * 4 + ["DEL"] * 4 + ["ADD"] * 4


def test_network_operations_are_counted_by_containerd_which_outlives_the_kubelet() -> None:
    run = Run("duration: 40s\n  steps: [{at: 20s, restart: kubelet}]", metrics=True)
    metrics = read_metrics(run.result.metrics)
    operations = metrics["containerd_cri_network_plugin_operations_total_total"]
    assert operations.value(operation_type="set_up_pod") == 1
    assert "kubelet_runtime_operations_total" not in metrics  # the new kubelet had nothing to do
