"""Topology hints of the static memory policy for a container or a pod.

Mirrors: pkg/kubelet/cm/memorymanager/policy_static.go GetTopologyHints, GetPodTopologyHints, regenerateHints
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.cpumanager.requests import manages_pod_level
from kubesim.kubelet.cm.memorymanager.policy_static import StaticMemoryPolicy
from kubesim.kubelet.cm.memorymanager.requests import (
    Sizes,
    container_requested_resources,
    pod_requested_resources,
    validate_pod_scope_resources,
)
from kubesim.kubelet.cm.memorymanager.state import Blocks
from kubesim.kubelet.cm.topologymanager.hints import Hints, TopologyHint
from kubesim.kubelet.cm.topologymanager.manager import all_containers

NO_PREFERENCE: Hints = {}


def topology_hints(policy: StaticMemoryPolicy, pod: Pod, container: Container) -> Hints:
    if not policy.is_for(pod):
        return NO_PREFERENCE
    try:
        requested = container_requested_resources(pod, container, policy.gates)
    except AllocationError:
        return NO_PREFERENCE
    blocks = policy.state.get(pod.metadata.uid, container.name)
    return _calculated(policy, pod, requested) if blocks is None else _regenerated(blocks, requested)


def pod_topology_hints(policy: StaticMemoryPolicy, pod: Pod) -> Hints:
    if not policy.is_for(pod):
        return NO_PREFERENCE
    try:
        requested = pod_requested_resources(pod, policy.gates)
    except AllocationError:
        return NO_PREFERENCE
    if manages_pod_level(pod, policy.gates):
        try:
            validate_pod_scope_resources(pod, policy.gates)
        except AllocationError:
            return dict.fromkeys(requested, ())
    if not requested:
        return NO_PREFERENCE
    for container in all_containers(pod):
        blocks = policy.state.get(pod.metadata.uid, container.name)
        if blocks is not None:
            return _regenerated(blocks, requested)
    return _calculated(policy, pod, requested)


def _calculated(policy: StaticMemoryPolicy, pod: Pod, requested: Sizes) -> Hints:
    return {name: tuple(hints) for name, hints in policy.calculate_hints(pod, requested).items()}


def _regenerated(blocks: Blocks, requested: Sizes) -> Hints:
    """A hint for the current allocation, if it still matches the request; otherwise no preference."""
    if len(blocks) != len(requested) or any(requested.get(block.type) != block.size for block in blocks):
        return NO_PREFERENCE
    hints: dict[str, tuple[TopologyHint, ...]] = dict.fromkeys(requested, ())
    for block in blocks:
        hints[block.type] += (TopologyHint(frozenset(block.nodes), preferred=True),)
    return hints
