"""dockershim's checkpoint of a sandbox, which it read when docker had lost the container. The host address of a port
mapping is not in it. Pure.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/docker_checkpoint.go, docker_sandbox.go constructPodSandboxCheckpoint
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from kubesim.cni.pod_config import PortMapping
from kubesim.cni.pod_network import protocol_name
from kubesim.golang.fnv import fnv1a
from kubesim.values import value_object

DIRECTORY: Final = "/var/lib/dockershim/sandbox"
_PROTOCOLS = {"tcp": 0, "udp": 1, "sctp": 2}


class CorruptCheckpoint(ValueError):
    """A checkpoint with a wrong checksum."""


@value_object
class SandboxCheckpoint:
    name: str
    namespace: str
    port_mappings: tuple[PortMapping, ...] = ()
    host_network: bool = False


def construct_checkpoint(
    name: str, namespace: str, mappings: Sequence[PortMapping], *, host_network: bool
) -> SandboxCheckpoint:
    kept = tuple(PortMapping(each.protocol, each.container_port, each.host_port) for each in mappings)
    return SandboxCheckpoint(name, namespace, kept, host_network)


def marshal(checkpoint: SandboxCheckpoint) -> str:
    data: dict[str, Any] = {}
    if checkpoint.port_mappings:
        data["port_mappings"] = [
            {
                "protocol": protocol_name(each.protocol),
                "container_port": each.container_port,
                "host_port": each.host_port,
            }
            for each in checkpoint.port_mappings
        ]
    if checkpoint.host_network:
        data["host_network"] = True
    whole = {"version": "v1", "name": checkpoint.name, "namespace": checkpoint.namespace, "data": data}
    return json.dumps({**whole, "checksum": _checksum(data)}, separators=(",", ":"))


def unmarshal(text: str) -> SandboxCheckpoint:
    """Decode a checkpoint. Raises CorruptCheckpoint."""
    try:
        found = json.loads(text)
        data = found["data"]
        if found["checksum"] != _checksum(data):
            raise CorruptCheckpoint("checkpoint is corrupted")
        mappings = tuple(
            PortMapping(_PROTOCOLS[each["protocol"]], each["container_port"], each["host_port"])
            for each in data.get("port_mappings", ())
        )
        return SandboxCheckpoint(found["name"], found["namespace"], mappings, bool(data.get("host_network")))
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise CorruptCheckpoint("checkpoint is corrupted") from error


def _checksum(data: Any) -> int:
    """FNV-1a, 32 bits. Upstream hashes a dump of its Go structs; both detect the same changes."""
    return fnv1a(json.dumps(data, separators=(",", ":")).encode(), 32)
