"""What the kubelet's configuration says about sandboxes. The DNS defaults are those of a cluster made by kubeadm."""

from __future__ import annotations

from typing import Literal

from kubesim.values import value_object


@value_object
class DNSSettings:
    """`resolv_conf` is a path of the node; empty: pods get none of the node's settings."""

    cluster_dns: tuple[str, ...] = ("10.96.0.10",)
    cluster_domain: str = "cluster.local"
    resolv_conf: str = "/etc/resolv.conf"


@value_object
class CgroupSettings:
    driver: Literal["cgroupfs", "systemd"] = "cgroupfs"
    root: str = "/"
    per_qos: bool = True  # without it, pods have no group of their own


@value_object
class SandboxSettings:
    dns: DNSSettings = DNSSettings()
    cgroups: CgroupSettings = CgroupSettings()
    user_ids_per_pod: int = 65_536
