"""Sandbox settings of the kubelet configuration. The DNS defaults are those of kubeadm."""

from __future__ import annotations

from typing import Literal

from kubesim.values import value_object


@value_object
class DNSSettings:
    """DNS settings. `resolv_conf` is a path on the node; empty: pods get none of the node's settings."""

    cluster_dns: tuple[str, ...] = ("10.96.0.10",)
    cluster_domain: str = "cluster.local"
    resolv_conf: str = "/etc/resolv.conf"


@value_object
class CgroupSettings:
    driver: Literal["cgroupfs", "systemd"] = "cgroupfs"
    root: str = "/"
    per_qos: bool = True  # false: no cgroups per QoS class and pod


@value_object
class SandboxSettings:
    dns: DNSSettings = DNSSettings()
    cgroups: CgroupSettings = CgroupSettings()
    user_ids_per_pod: int = 65_536
