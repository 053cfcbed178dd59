"""The part of CRI's PodSandboxConfig that pod networking reads. Plain data, so that importing it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.values import value_object


@value_object
class PortMapping:
    """CRI's: the protocol is a number, and mappings without a host port are there too."""

    protocol: int = 0
    container_port: int = 0
    host_port: int = 0
    host_ip: str = ""


@value_object
class DNSConfig:
    """CRI's: what becomes the resolv.conf of a sandbox. None is Go's nil list."""

    servers: Sequence[str] | None = None
    searches: Sequence[str] | None = None
    options: Sequence[str] | None = None


@value_object
class PodNetworkConfig:
    """What the plugins are told about a pod."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: Mapping[str, str] | None = None
    port_mappings: Sequence[PortMapping] = ()
    dns: DNSConfig | None = None
    cgroup_parent: str = ""
