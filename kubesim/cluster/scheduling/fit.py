"""Why a pod does not fit on a node: predicate failures and insufficient resources.

Mirrors: pkg/scheduler/framework/plugins/noderesources/fit.go fitsRequest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, pod_requests
from kubesim.cluster.scheduling.node_info import NodeInfo, NodeResources
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.values import value_object

OS_LABEL = "kubernetes.io/os"
NODE_OS = "linux"


@value_object
class InsufficientResource:
    """A resource is insufficient on the node; cpu is in thousandths."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def reason(self) -> str:
        return f"OutOf{self.resource}"

    @property
    def message(self) -> str:
        return (
            f"Node didn't have enough resource: {self.resource}, requested: {self.requested}, "
            f"used: {self.used}, capacity: {self.capacity}"
        )


@value_object
class PredicateFailure:
    """A predicate other than resources failed."""

    predicate: str
    description: str = ""

    @property
    def reason(self) -> str:
        return self.predicate

    @property
    def message(self) -> str:
        return f"Predicate {self.predicate} failed" + (f": {self.description}" if self.description else "")


NODE_AFFINITY = PredicateFailure("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
NODE_NAME = PredicateFailure("NodeName", "node(s) didn't match the requested node name")
NODE_PORTS = PredicateFailure("NodePorts", "node(s) didn't have free ports for the requested pod ports")
TAINT_TOLERATION = PredicateFailure("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def node_labels(node: Node) -> Mapping[str, str]:
    """The node's labels for affinity. Like the kubelet, it corrects the OS label if there are labels."""
    labels = node.metadata.labels
    return {**labels, OS_LABEL: NODE_OS} if labels else labels


def insufficient_resources(
    pod: Pod, info: NodeInfo, gates: FeatureGates = DEFAULT_GATES
) -> Iterator[InsufficientResource]:
    """The resources that the node lacks for this pod."""
    need = NodeResources.of(pod_requests(pod, skip_pod_level=not gates.enabled("PodLevelResources")))
    return fits_request(need, info)


def fits_request(need: NodeResources, info: NodeInfo) -> Iterator[InsufficientResource]:
    """The resources that the node lacks for these requests."""
    have, used = info.allocatable, info.requested
    if info.pod_count + 1 > have.allowed_pods:
        yield InsufficientResource(PODS, 1, info.pod_count, have.allowed_pods)
    for name, needed, taken, capacity in (
        (CPU, need.milli_cpu, used.milli_cpu, have.milli_cpu),
        (MEMORY, need.memory, used.memory, have.memory),
        (EPHEMERAL_STORAGE, need.ephemeral_storage, used.ephemeral_storage, have.ephemeral_storage),
        *(
            (name, needed, used.scalars.get(name, 0), have.scalars.get(name, 0))
            for name, needed in need.scalars.items()
        ),
    ):
        if needed > 0 and needed > capacity - taken:
            yield InsufficientResource(name, needed, taken, capacity)
