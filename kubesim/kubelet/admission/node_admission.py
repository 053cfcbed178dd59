"""Node admission for the allocation manager: whether a pod fits next to the pods that are already admitted.

Mirrors: pkg/kubelet/lifecycle/predicate.go predicateAdmitHandler
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import pod_requests
from kubesim.cluster.scheduling.node_info import NodeInfo, NodeResources
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.admission.predicates import AdmissionResult, admit_to_node

PluginResources = Callable[[Pod, NodeResources], NodeResources]


class NodeAdmission:
    """Predicate admission of one node; implements the allocation manager's `Admission`.

    The usage of the active pods is summed once and grows with each admitted pod; `pods_changed` invalidates the sum.
    `node` returns the kubelet's current Node; `update_plugin_resources` returns the node's allocatable device resources
    for one pod.
    """

    def __init__(self, node: Callable[[], Node], gates: FeatureGates = DEFAULT_GATES) -> None:
        self._node = node
        self._gates = gates
        self._info: NodeInfo | None = None
        self.update_plugin_resources: PluginResources | None = None

    def admit(self, pod: Pod, others: Callable[[], Iterable[Pod]]) -> AdmissionResult:
        """Check a new pod. `others` returns the other active pods."""
        node = self._node()
        if self._info is None or self._info.node is not node:
            self._info = NodeInfo(node, others(), self._gates)
        result = self._admit_to_node(pod, self._info)
        if result.admit:
            self._info.add(pod)
        return result

    def admit_resize(self, pod: Pod, others: Iterable[Pod]) -> AdmissionResult:
        """Check the new requests of an admitted pod."""
        return self._admit_to_node(pod, NodeInfo(self._node(), others, self._gates))

    def exceeds_allocatable(self, pod: Pod) -> bool:
        """Whether the pod requests more cpu or memory than the allocatable of the empty node."""
        allocatable, wanted = NodeInfo(self._node(), (), self._gates).allocatable, NodeResources()
        wanted.add(pod_requests(pod))
        return wanted.milli_cpu > allocatable.milli_cpu or wanted.memory > allocatable.memory

    def _admit_to_node(self, pod: Pod, info: NodeInfo) -> AdmissionResult:
        if self.update_plugin_resources is None:
            return admit_to_node(pod, info, self._gates)
        allocatable = info.allocatable
        info.allocatable = self.update_plugin_resources(pod, allocatable)
        try:
            return admit_to_node(pod, info, self._gates)
        finally:
            info.allocatable = allocatable

    def pods_changed(self) -> None:
        self._info = None
