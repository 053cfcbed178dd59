"""Creates docker runtimes, on a simulated network or on a real node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.clock import LoopClock, Randomness
from kubesim.cni.plugin_manager import NetworkPlugin
from kubesim.runtime.docker.orders.parts import Steps
from kubesim.runtime.docker.runtime import DockerRuntime
from kubesim.runtime.docker.settings import KUBENET, DockerSettings, NetworkPluginSettings
from kubesim.runtime.docker.simulated_plugin import SimulatedPlugin
from kubesim.runtime.docker.start_up import start_dockershim, start_dockertools
from kubesim.runtime.simulated.containers.container_process import ProcessFactory
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.trace import Recorder
from kubesim.values import value_object


@value_object
class DockerPlan:
    """A node whose kubelet uses docker in the named sandbox order."""

    order: str
    network: NetworkPluginSettings
    docker: DockerSettings
    cgroup_driver: str  # of the kubelet
    status_period: int  # interval at which the kubelet polls the network plugin


def simulated_runtime(
    plan: DockerPlan,
    clock: LoopClock,
    randomness: Randomness,
    processes: ProcessFactory,
    settings: SimulatedSettings,
    recorder: Recorder,
    node: str,
) -> DockerRuntime:
    """A docker runtime with a simulated network."""
    steps = Steps(recorder, node)
    runtime = DockerRuntime(clock, randomness, processes, settings, plan.docker, steps)
    lacking = "" if plan.docker.has_nsenter else "nsenter"
    plugins = [
        SimulatedPlugin("cni", runtime.is_configured, settings.sandbox_errors, runtime.take_address, lacking),
        SimulatedPlugin(KUBENET, lambda: bool(plan.network.pod_cidr), settings.sandbox_errors, runtime.take_address),
    ]
    serve(runtime, plan, plugins, steps)
    return runtime


def serve(runtime: DockerRuntime, plan: DockerPlan, plugins: Sequence[NetworkPlugin], steps: Steps) -> None:
    """Start the network plugin at every start of the kubelet. A UsageError stops the kubelet."""
    begin: Callable[[], NetworkPlugin]
    if plan.order == "dockershim":
        begin = lambda: start_dockershim(plugins, plan.network, plan.docker, plan.cgroup_driver, steps)  # noqa: E731
    else:
        begin = lambda: start_dockertools(plugins, plan.network, steps)  # noqa: E731
    runtime.use(plan.order, begin, plan.status_period, plan.network.configured_at)
