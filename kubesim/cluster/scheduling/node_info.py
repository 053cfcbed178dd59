"""Capacity of a node, and the resources and host ports used by its pods.

It is built from the node and its admitted pods; each newly admitted pod is added.

Mirrors: pkg/scheduler/framework/types.go Resource, NodeInfo; kube-scheduler/framework/types.go HostPortInfo
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from kubesim.api.names import is_scalar_resource_name
from kubesim.api.node import Node
from kubesim.api.pod import ContainerPort, Pod
from kubesim.api.pods.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources, pod_requests, quantities
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.values import mutable

_ANY_IP = "0.0.0.0"


@mutable
class NodeResources:
    """Resource amounts in admission's units. `scalars` are extended resources, huge pages and attachable volumes."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    allowed_pods: int = 0
    scalars: dict[str, int] = field(default_factory=dict)

    def add(self, resources: Resources) -> None:
        for name, amount in resources.items():
            if name == CPU:
                self.milli_cpu += amount.milli_value()
            elif name == MEMORY:
                self.memory += amount.value()
            elif name == EPHEMERAL_STORAGE:
                self.ephemeral_storage += amount.value()
            elif name == PODS:
                self.allowed_pods += amount.value()
            elif is_scalar_resource_name(name):
                self.scalars[name] = self.scalars.get(name, 0) + amount.value()

    def add_all(self, other: NodeResources, sign: int = 1) -> None:
        """Add amounts; `sign` -1 subtracts them."""
        self.milli_cpu += sign * other.milli_cpu
        self.memory += sign * other.memory
        self.ephemeral_storage += sign * other.ephemeral_storage
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + sign * amount

    def copy(self) -> NodeResources:
        return NodeResources(self.milli_cpu, self.memory, self.ephemeral_storage, self.allowed_pods, dict(self.scalars))

    @classmethod
    def of(cls, resources: Resources) -> NodeResources:
        result = cls()
        result.add(resources)
        return result


class HostPorts:
    """Used host ports by address; `0.0.0.0` conflicts with every address."""

    def __init__(self) -> None:
        self._taken: dict[str, set[tuple[str, int]]] = {}

    def add(self, port: ContainerPort) -> None:
        self._taken.setdefault(port.host_ip or _ANY_IP, set()).add(_protocol_port(port))

    def remove(self, port: ContainerPort) -> None:
        """Remove a pod's ports. A port that two pods share is counted once, as upstream."""
        self._taken.get(port.host_ip or _ANY_IP, set()).discard(_protocol_port(port))

    def copy(self) -> HostPorts:
        ports = HostPorts()
        ports._taken = {address: set(taken) for address, taken in self._taken.items()}
        return ports

    def conflicts(self, port: ContainerPort) -> bool:
        address = port.host_ip or _ANY_IP
        addresses = self._taken if address == _ANY_IP else (_ANY_IP, address)
        return any(_protocol_port(port) in self._taken.get(taken, ()) for taken in addresses)


def _protocol_port(port: ContainerPort) -> tuple[str, int]:
    return port.protocol or "TCP", port.host_port


def host_ports(pod: Pod) -> Iterator[ContainerPort]:
    """The host ports of a running pod: those of its sidecars and regular containers."""
    for container in (*filter(is_restartable_init_container, pod.spec.init_containers), *pod.spec.containers):
        yield from (port for port in container.ports if port.host_port > 0)


class NodeInfo:
    """A node with its pods."""

    def __init__(self, node: Node, pods: Iterable[Pod] = (), gates: FeatureGates = DEFAULT_GATES) -> None:
        self.node = node
        self.allocatable = NodeResources.of(quantities(node.status.allocatable))
        self.requested = NodeResources()
        self.ports = HostPorts()
        self.pod_count = 0
        self._gates = gates
        for pod in pods:
            self.add(pod)

    def add(self, pod: Pod) -> None:
        """Add a pod to the node."""
        gates = self._gates
        self.pod_count += 1
        self.requested.add(
            pod_requests(
                pod,
                use_status=gates.enabled("InPlacePodVerticalScaling"),
                use_pod_level_status=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
                skip_pod_level=not gates.enabled("PodLevelResources"),
            )
        )
        for port in host_ports(pod):
            self.ports.add(port)
