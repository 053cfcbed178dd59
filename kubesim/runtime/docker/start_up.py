"""Start of a docker kubelet: selects its network plugin, and finds errors that stop the kubelet.

Mirrors: kubelet v1.12 pkg/kubelet/kubelet.go NewMainKubelet (DockerContainerRuntime), dockershim/docker_service.go
NewDockerService; v1.6 cmd/kubelet/app/server.go UnsecuredKubeletDeps, pkg/kubelet/kubelet.go NewMainKubelet
(InitNetworkPlugin)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubesim.cni.plugin_manager import InitArguments, NetworkPlugin, init_network_plugin
from kubesim.errors import CniError, UsageError
from kubesim.golang.text import quoted
from kubesim.runtime.docker.orders.checkpoint import DIRECTORY
from kubesim.runtime.docker.orders.parts import Steps
from kubesim.runtime.docker.settings import (
    DockerSettings,
    NetworkPluginSettings,
    cgroup_driver_problem,
    docker_version_problem,
    effective_hairpin_mode,
    is_cri_supported_log_driver,
)
from kubesim.values import replace

INIT: Final = {"cni": "it finds nsenter in PATH and reads its directory again, as it did when it was probed"}


def start_dockershim(
    plugins: Sequence[NetworkPlugin],
    given: NetworkPluginSettings,
    docker: DockerSettings,
    cgroup_driver: str,
    at: Steps,
) -> NetworkPlugin:
    """The selected plugin. A UsageError stops the kubelet."""
    steps = at.of("NewDockerService")
    steps.take(f"keep checkpoints in {DIRECTORY}")
    _stop_at(docker_version_problem(docker.api_version))
    steps.take(f"docker speaks API version {docker.api_version}")
    steps.take("set up streaming", "exec, attach and port-forward are served on localhost")
    given = _with_hairpin_mode(given, steps)
    steps.take(f"probe network plugins: {', '.join(plugin.name for plugin in plugins)}")
    try:
        chosen = _init_network_plugin(plugins, given, steps)
    except CniError as error:
        raise UsageError(f"didn't find compatible CNI plugin with given settings {given}: {error}") from None
    steps.take(f"Docker cri networking managed by {chosen.name}")
    driver = docker.cgroup_driver or cgroup_driver
    _stop_at(cgroup_driver_problem(cgroup_driver, driver))
    steps.take(f"Setting cgroupDriver to {driver}")
    kubelet = at.of("NewMainKubelet")
    kubelet.take("Starting the GRPC server for the docker CRI shim.", "unix:///var/run/dockershim.sock")
    if not is_cri_supported_log_driver(docker.log_driver):
        kubelet.take("use the legacy log service", f"docker logs with {docker.log_driver}, which CRI does not know")
    return chosen


def start_dockertools(plugins: Sequence[NetworkPlugin], given: NetworkPluginSettings, at: Steps) -> NetworkPlugin:
    """The same for a kubelet without dockershim: plugins are dependencies that exist before the kubelet."""
    at.of("UnsecuredKubeletDeps").take(f"probe network plugins: {', '.join(plugin.name for plugin in plugins)}")
    steps = at.of("NewMainKubelet")
    given = _with_hairpin_mode(given, steps)
    try:
        return _init_network_plugin(plugins, given, steps)
    except CniError as error:
        raise UsageError(str(error)) from None


def _init_network_plugin(plugins: Sequence[NetworkPlugin], given: NetworkPluginSettings, steps: Steps) -> NetworkPlugin:
    """Initialize the plugin. Raises CniError."""
    chosen = init_network_plugin(plugins, given.name, _arguments(given))
    if not given.name:
        steps.take("no network plugin is named")
        return chosen
    arguments = f"hairpin mode {given.hairpin_mode}, MTU {given.mtu}, no masquerade for {given.non_masquerade_cidr}"
    steps.take(f"Init of plugin {chosen.name} with {arguments}", INIT.get(chosen.name, ""))
    for line in chosen.log():
        steps.take(line)
    steps.take(f"Loaded network plugin {quoted(given.name)}")
    return chosen


def _with_hairpin_mode(given: NetworkPluginSettings, steps: Steps) -> NetworkPluginSettings:
    try:
        mode, warning = effective_hairpin_mode(given.hairpin_mode, given.name)
    except ValueError as error:
        raise UsageError(f"Invalid hairpin mode: {error}") from None
    steps.take(f"Hairpin mode set to {quoted(mode)}", warning)
    return replace(given, hairpin_mode=mode)


def _arguments(given: NetworkPluginSettings) -> InitArguments:
    return InitArguments(given.hairpin_mode, given.non_masquerade_cidr, given.mtu)


def _stop_at(problem: str) -> None:
    if problem:
        raise UsageError(problem)
