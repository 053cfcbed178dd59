"""Settings of a kubelet with docker, and those with which it does not start."""

from __future__ import annotations

import pytest

from kubesim.cni.plugin_manager import InitArguments, NetworkPlugin, NoopNetworkPlugin
from kubesim.errors import UsageError
from kubesim.runtime.docker.settings import (
    DockerSettings,
    NetworkPluginSettings,
    cgroup_driver_problem,
    docker_version_problem,
    effective_hairpin_mode,
    split_dirs,
)
from kubesim.runtime.docker.start_up import start_dockershim, start_dockertools
from tests.support.fakes.docker import NotedSteps


class Named(NoopNetworkPlugin):
    def __init__(self, name: str) -> None:
        self.name = name
        self.given = InitArguments()

    def log(self) -> tuple[str, ...]:
        return ()

    def init(self, given: InitArguments) -> None:
        self.given = given


def test_directories_are_separated_by_commas() -> None:
    assert split_dirs("/a,/b:c,") == ["/a", "/b:c", ""]


def test_promiscuous_bridge_is_only_for_kubenet() -> None:
    assert effective_hairpin_mode("promiscuous-bridge", "kubenet") == ("promiscuous-bridge", "")
    mode, warning = effective_hairpin_mode("promiscuous-bridge", "cni")
    assert (mode, warning.endswith('falling back to "hairpin-veth"')) == ("hairpin-veth", True)
    assert effective_hairpin_mode("none", "cni") == ("none", "")
    with pytest.raises(ValueError, match=r'^unknown value: "loop"$'):
        effective_hairpin_mode("loop", "cni")


@pytest.mark.parametrize(("version", "is_old"), [("1.22", True), ("1.23", False), ("1.9", True), ("2.0", False)])
def test_the_oldest_supported_docker(version: str, is_old: bool) -> None:
    assert docker_version_problem(version) == ("docker API version is older than 1.23.0" if is_old else "")


def test_the_cgroup_drivers_must_agree() -> None:
    assert cgroup_driver_problem("", "systemd") == cgroup_driver_problem("systemd", "systemd") == ""
    assert cgroup_driver_problem("cgroupfs", "systemd") == (
        'misconfiguration: kubelet cgroup driver: "cgroupfs" is different from docker cgroup driver: "systemd"'
    )


def test_the_plugin_gets_hairpin_mode_range_and_mtu() -> None:
    steps = NotedSteps()
    chosen = Named("kubenet")
    plugins: list[NetworkPlugin] = [Named("cni"), chosen]
    given = NetworkPluginSettings("kubenet", non_masquerade_cidr="10.1.0.0/16", mtu=1400)
    assert start_dockershim(plugins, given, DockerSettings(log_driver="journald"), "systemd", steps) is chosen
    assert chosen.given == InitArguments("promiscuous-bridge", "10.1.0.0/16", 1400)
    assert steps.names == [
        "keep checkpoints in /var/lib/dockershim/sandbox",
        "docker speaks API version 1.38",
        "set up streaming",
        'Hairpin mode set to "promiscuous-bridge"',
        "probe network plugins: cni, kubenet",
        "Init of plugin kubenet with hairpin mode promiscuous-bridge, MTU 1400, no masquerade for 10.1.0.0/16",
        'Loaded network plugin "kubenet"',
        "Docker cri networking managed by kubenet",
        "Setting cgroupDriver to systemd",
        "Starting the GRPC server for the docker CRI shim.",
        "use the legacy log service",
    ]


@pytest.mark.parametrize(
    ("name", "docker", "reported"),
    [
        ("cni", DockerSettings(api_version="1.22"), "docker API version is older than 1.23.0"),
        ("cni", DockerSettings("systemd"), "misconfiguration: kubelet cgroup driver"),
        (
            "weave",
            DockerSettings(),
            (
                "didn't find compatible CNI plugin with given settings &{HairpinMode:hairpin-veth "
                "NonMasqueradeCIDR:10.0.0.0/8 PluginName:weave PluginBinDirString:/a,/b PluginBinDirs:[/a /b] "
                'PluginConfDir:/c MTU:0}: Network plugin "weave" not found.'
            ),
        ),
    ],
)
def test_settings_that_stop_a_kubelet_with_dockershim(name: str, docker: DockerSettings, reported: str) -> None:
    steps = NotedSteps()
    with pytest.raises(UsageError) as raised:
        start_dockershim([Named("cni")], NetworkPluginSettings(name, "/c", "/a,/b"), docker, "cgroupfs", steps)
    assert str(raised.value).startswith(reported)


def test_settings_that_stop_a_kubelet_with_dockertools() -> None:
    steps = NotedSteps()
    with pytest.raises(UsageError, match=r'^Network plugin "weave" not found.$'):
        start_dockertools([Named("cni")], NetworkPluginSettings("weave"), steps)
    with pytest.raises(UsageError, match=r'^Invalid hairpin mode: unknown value: "loop"$'):
        start_dockertools([], NetworkPluginSettings(hairpin_mode="loop"), steps)
    assert start_dockertools([Named("cni")], NetworkPluginSettings(""), steps).name == "kubernetes.io/no-op"
    assert steps.names[-1] == "no network plugin is named"
