"""The topology manager: admits a pod when all hint providers have allocated with the alignment that the policy
requires.

The scope `container` aligns each container separately; the scope `pod` aligns all of them together.

Mirrors: pkg/kubelet/cm/topologymanager/topology_manager.go, scope.go, scope_none.go, scope_container.go, scope_pod.go
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.resources import is_pod_level_resources_set
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.machine import MachineError, NumaNode
from kubesim.kubelet.cm.topologymanager.hints import HintProvider, TopologyHint
from kubesim.kubelet.cm.topologymanager.numa_info import NumaInfo, new_numa_info
from kubesim.kubelet.cm.topologymanager.policy import (
    BEST_EFFORT,
    NO_NODE,
    NONE,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    Policy,
    PolicyName,
)
from kubesim.kubelet.cm.topologymanager.policy_options import PolicyOptions, new_policy_options
from kubesim.values import part

TOPOLOGY_AFFINITY = "TopologyAffinityError"
CONTAINER_SCOPE, POD_SCOPE, NONE_SCOPE = "container", "pod", "none"
NO_OPTIONS: Mapping[str, str] = {}
_POLICIES: tuple[PolicyName, ...] = (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)


@part
class TopologyManager:
    """Topology manager; providers read `affinity` while they allocate."""

    policy: Policy
    scope: str
    gates: FeatureGates = DEFAULT_GATES
    providers: list[HintProvider] = field(default_factory=list)
    _hints: dict[tuple[str, str], TopologyHint] = field(default_factory=dict)  # hints of the last admitted pod

    def affinity(self, uid: str, container: str) -> TopologyHint:
        """The hint chosen for a container of the pod in admission."""
        return self._hints.get((uid, container), NO_NODE)

    def admit(self, pod: Pod) -> None:
        """Align and allocate all containers. Raises AllocationError if the pod is rejected."""
        self._hints.clear()
        if self.scope == NONE_SCOPE:
            for container in all_containers(pod):
                self._allocate(pod, container)
        elif self.scope == CONTAINER_SCOPE:
            self._admit_containers(pod)
        else:
            self._admit_pod(pod)

    def _admit_containers(self, pod: Pod) -> None:
        for container in all_containers(pod):
            best, admit = self.policy.merge([each.topology_hints(pod, container) for each in self.providers])
            if not admit:
                if self._pod_level(pod):
                    raise pod_level_affinity_error(
                        "pod with pod-level resources failed admission with a container-level topology manager"
                    )
                raise affinity_error()
            self._set(pod, container, best)
            self._allocate(pod, container)

    def _admit_pod(self, pod: Pod) -> None:
        best, admit = self.policy.merge([each.pod_topology_hints(pod) for each in self.providers])
        pod_level = self._pod_level(pod)
        if not admit:
            if pod_level:
                raise pod_level_affinity_error(
                    "pod with pod-level resources failed admission under pod-scope topology manager"
                )
            raise affinity_error()
        for container in all_containers(pod):
            self._set(pod, container, best)
            if not pod_level:
                self._allocate(pod, container)
        if pod_level:
            for provider in self.providers:
                provider.allocate_pod(pod)

    def _pod_level(self, pod: Pod) -> bool:
        return self.gates.enabled("PodLevelResourceManagers") and is_pod_level_resources_set(pod)

    def _set(self, pod: Pod, container: Container, hint: TopologyHint) -> None:
        self._hints[pod.metadata.uid, container.name] = hint

    def _allocate(self, pod: Pod, container: Container) -> None:
        for provider in self.providers:
            provider.allocate(pod, container)


def new_topology_manager(
    topology: tuple[NumaNode, ...],
    policy: str = NONE,
    scope: str = CONTAINER_SCOPE,
    options: Mapping[str, str] = NO_OPTIONS,
    gates: FeatureGates = DEFAULT_GATES,
) -> TopologyManager:
    """Create the manager. Raises MachineError if the options are invalid. The policy none ignores scope and options."""
    if policy == NONE:
        return TopologyManager(Policy(NONE, NumaInfo((), {}), PolicyOptions()), NONE_SCOPE, gates)
    parsed = new_policy_options(options)
    try:
        numa = new_numa_info(topology, parsed)
    except MachineError as error:
        raise MachineError(f"cannot discover NUMA topology: {error}") from None
    most = parsed.max_allowable_numa_nodes
    if len(numa.nodes) > most:
        raise MachineError(f"unsupported on machines with more than {most} NUMA Nodes")
    known = next((name for name in _POLICIES if name == policy), None)
    if known is None:
        raise MachineError(f'unknown policy: "{policy}"')
    if scope not in (CONTAINER_SCOPE, POD_SCOPE):
        raise MachineError(f'unknown scope: "{scope}"')
    return TopologyManager(Policy(known, numa, parsed), scope, gates)


def affinity_error() -> AllocationError:
    return AllocationError("Resources cannot be allocated with Topology locality", TOPOLOGY_AFFINITY)


def pod_level_affinity_error(message: str = "") -> AllocationError:
    text = message or "Resources cannot be allocated with Topology locality"
    return AllocationError(f"Pod Scope {text}", TOPOLOGY_AFFINITY)


def all_containers(pod: Pod) -> tuple[Container, ...]:
    """All containers in allocation order: init containers first."""
    return (*pod.spec.init_containers, *pod.spec.containers)
