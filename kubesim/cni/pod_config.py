"""The fields of CRI's PodSandboxConfig that pod networking reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.pods.dns_config import DNSConfig
from kubesim.values import value_object


@value_object
class PortMapping:
    """A port mapping as in CRI: the protocol is a number, and mappings without a host port are included."""

    protocol: int = 0
    container_port: int = 0
    host_port: int = 0
    host_ip: str = ""


@value_object
class PodNetworkConfig:
    """The fields of a pod that CNI plugins get."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: Mapping[str, str] | None = None
    port_mappings: Sequence[PortMapping] = ()
    dns: DNSConfig | None = None
    cgroup_parent: str = ""
