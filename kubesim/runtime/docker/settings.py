"""Settings of a kubelet with docker for its network plugin and its daemon, and what follows from them. Pure.

Mirrors: kubelet v1.12 pkg/kubelet/config/flags.go, pkg/kubelet/dockershim/docker_service.go NetworkPluginSettings,
effectiveHairpinMode, cni.go SplitDirs
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from kubesim.golang.text import quoted
from kubesim.values import value_object

KUBENET: Final = "kubenet"


@value_object
class NetworkPluginSettings:
    """Flags of the kubelet. A `name` of nothing is the no-op plugin: docker's own bridge."""

    name: str = "cni"
    conf_dir: str = ""
    bin_dir: str = ""
    hairpin_mode: str = "promiscuous-bridge"
    non_masquerade_cidr: str = "10.0.0.0/8"
    mtu: int = 0
    pod_cidr: str = ""
    configured_at: int = 0  # since the start: when the configuration of a simulated network is there

    def __str__(self) -> str:
        """As Go prints the structure."""
        dirs = " ".join(split_dirs(self.bin_dir))
        return (
            f"&{{HairpinMode:{self.hairpin_mode} NonMasqueradeCIDR:{self.non_masquerade_cidr} PluginName:{self.name} "
            f"PluginBinDirString:{self.bin_dir} PluginBinDirs:[{dirs}] PluginConfDir:{self.conf_dir} MTU:{self.mtu}}}"
        )


@value_object
class DockerSettings:
    """The daemon of a node. `errors` are those of its next calls, by call: pull, create, start, stop."""

    cgroup_driver: str = ""  # empty: the kubelet's
    api_version: str = "1.38"
    log_driver: str = "json-file"
    errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_nsenter: bool = True  # the node, for the network plugin cni


def split_dirs(given: str) -> list[str]:
    """A comma, not a colon, which is part of paths elsewhere."""
    return given.split(",")


def effective_hairpin_mode(mode: str, plugin: str) -> tuple[str, str]:
    """The mode in force, and a warning. Raises ValueError for one that does not exist."""
    if mode not in ("promiscuous-bridge", "hairpin-veth", "none"):
        raise ValueError(f"unknown value: {quoted(mode)}")
    if mode == "promiscuous-bridge" and plugin != KUBENET:
        fallback = "hairpin-veth"
        warning = f"Hairpin mode set to {quoted(mode)} but kubenet is not enabled, falling back to {quoted(fallback)}"
        return fallback, warning
    return mode, ""


def docker_version_problem(api_version: str) -> str:
    """checkVersionCompatibility."""
    oldest = "1.23.0"
    if _numbers(api_version) < _numbers(oldest):
        return f"docker API version is older than {oldest}"
    return ""


def cgroup_driver_problem(kubelet: str, docker: str) -> str:
    if kubelet and kubelet != docker:
        return (
            f"misconfiguration: kubelet cgroup driver: {quoted(kubelet)} is different from docker cgroup driver: "
            f"{quoted(docker)}"
        )
    return ""


def is_cri_supported_log_driver(driver: str) -> bool:
    return driver == "json-file"


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:2]]
