"""Settings of a docker kubelet: its network plugin flags and its docker daemon. Pure.

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
    """Network plugin flags of the kubelet. An empty `name` is the no-op plugin: docker's own bridge."""

    name: str = "cni"
    conf_dir: str = ""
    bin_dir: str = ""
    hairpin_mode: str = "promiscuous-bridge"
    non_masquerade_cidr: str = "10.0.0.0/8"
    mtu: int = 0
    pod_cidr: str = ""
    configured_at: int = 0  # when a simulated network is configured, after the start

    def __str__(self) -> str:
        """The struct in Go's format."""
        dirs = " ".join(split_dirs(self.bin_dir))
        return (
            f"&{{HairpinMode:{self.hairpin_mode} NonMasqueradeCIDR:{self.non_masquerade_cidr} PluginName:{self.name} "
            f"PluginBinDirString:{self.bin_dir} PluginBinDirs:[{dirs}] PluginConfDir:{self.conf_dir} MTU:{self.mtu}}}"
        )


@value_object
class DockerSettings:
    """The docker daemon of a node. `errors` are those of its next calls, by call: pull, create, start, stop."""

    cgroup_driver: str = ""  # empty: same as the kubelet
    api_version: str = "1.38"
    log_driver: str = "json-file"
    errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_nsenter: bool = True  # whether the node has nsenter, which the cni plugin needs


def split_dirs(given: str) -> list[str]:
    """Split by comma: a colon can be part of a path."""
    return given.split(",")


def effective_hairpin_mode(mode: str, plugin: str) -> tuple[str, str]:
    """The effective mode, and a warning. Raises ValueError for an unknown mode."""
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
