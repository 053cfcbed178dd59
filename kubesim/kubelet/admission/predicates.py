"""Predicate admission: whether a pod fits on this node next to the admitted pods.

The sync loop's handlers call it for every new pod, before its worker exists. Failures that no preemption could resolve
are checked first and reported alone; then all predicates are evaluated, and the first failure is the reported reason.

Mirrors: pkg/kubelet/lifecycle/predicate.go Admit, generalFilter; pkg/scheduler/eventhandlers.go AdmissionCheck;
pkg/scheduler/framework/plugins/noderesources/fit.go fitsRequest
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesim.api.names import is_dra_extended_resource_name, is_extended_resource_name
from kubesim.api.node import Node
from kubesim.api.pod import Container, Pod
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.cluster.scheduling.fit import (
    NODE_AFFINITY,
    NODE_NAME,
    NODE_OS,
    NODE_PORTS,
    OS_LABEL,
    TAINT_TOLERATION,
    InsufficientResource,
    PredicateFailure,
    insufficient_resources,
    node_labels,
)
from kubesim.cluster.scheduling.node_affinity import matches_node_affinity
from kubesim.cluster.scheduling.node_info import NodeInfo, NodeResources, host_ports
from kubesim.cluster.scheduling.taints import tolerates_no_execute_taints
from kubesim.features import DEFAULT_GATES, FeatureGates, known_gates
from kubesim.golang.text import quoted
from kubesim.values import value_object

STRICT_SUPPLEMENTAL_GROUPS = "Strict"
SIDECARS = "SidecarContainers"


Failure = InsufficientResource | PredicateFailure


@value_object
class AdmissionResult:
    """The admission result. `failures` are all failed predicates; the reported one is first."""

    admit: bool
    reason: str = ""
    message: str = ""
    failures: tuple[Failure, ...] = ()


ADMITTED = AdmissionResult(True)


def admit(pod: Pod, node: Node, other_pods: Iterable[Pod], gates: FeatureGates = DEFAULT_GATES) -> AdmissionResult:
    """Check a pod against the node and its admitted pods."""
    return admit_to_node(pod, NodeInfo(node, other_pods, gates), gates)


def admit_to_node(pod: Pod, info: NodeInfo, gates: FeatureGates = DEFAULT_GATES) -> AdmissionResult:
    """Check a pod against the node and the usage of its admitted pods."""
    unsupported = _unsupported(pod, info.node, gates)
    if unsupported is not None:
        return unsupported
    failures = predicate_failures(pod, info, gates)
    if not failures:
        return ADMITTED
    return AdmissionResult(False, failures[0].reason, failures[0].message, failures)


def _unsupported(pod: Pod, node: Node, gates: FeatureGates) -> AdmissionResult | None:
    """Failures that preemption cannot resolve."""
    if gates.rules.general_predicates:
        return None
    # Upstream compares the pod's labels, although the message mentions its node selector.
    if pod.metadata.labels.get(OS_LABEL, NODE_OS) != NODE_OS:
        return AdmissionResult(
            False,
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if pod.spec.os is not None and pod.spec.os.name != NODE_OS:
        return AdmissionResult(False, "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    policy = (pod.spec.security_context or {}).get("supplementalGroupsPolicy")
    supported = node.status.features is not None and node.status.features.supplemental_groups_policy
    if policy == STRICT_SUPPLEMENTAL_GROUPS and not supported and gates.enabled("SupplementalGroupsPolicy"):
        return AdmissionResult(
            False,
            "SupplementalGroupsPolicyNotSupported",
            f"SupplementalGroupsPolicy={STRICT_SUPPLEMENTAL_GROUPS} is not supported in this node",
        )
    if not gates.enabled(SIDECARS) and SIDECARS in known_gates(gates.profile):
        for container in filter(is_restartable_init_container, pod.spec.init_containers):
            message = f"Init container {quoted(container.name)} may not have a non-default restartPolicy"
            return AdmissionResult(False, "InitContainerRestartPolicyForbidden", message)
    return None


def predicate_failures(pod: Pod, info: NodeInfo, gates: FeatureGates = DEFAULT_GATES) -> tuple[Failure, ...]:
    """All failed predicates, in the order of the checks."""
    return tuple(_failures(pod, info, gates))


def _failures(pod: Pod, info: NodeInfo, gates: FeatureGates) -> Iterator[Failure]:
    node = info.node
    yield from insufficient_resources(_without_missing_resources(pod, info.allocatable, gates), info, gates)
    if gates.rules.general_predicates:
        yield from _essential_predicates(pod, info)
        return
    if not matches_node_affinity(pod, node.metadata.name, node_labels(node)):
        yield NODE_AFFINITY
    if pod.spec.node_name and pod.spec.node_name != node.metadata.name:
        yield NODE_NAME
    if any(map(info.ports.conflicts, host_ports(pod))):
        yield NODE_PORTS
    if not is_static_pod(pod) and not tolerates_no_execute_taints(pod, node, gates):
        yield TAINT_TOLERATION


def _essential_predicates(pod: Pod, info: NodeInfo) -> Iterator[Failure]:
    """The predicates of older kubelets, which ignore taints.

    Mirrors: v1.12 pkg/scheduler/algorithm/predicates EssentialPredicates
    """
    node = info.node
    if pod.spec.node_name and pod.spec.node_name != node.metadata.name:
        yield PredicateFailure("HostName")
    if any(map(info.ports.conflicts, host_ports(pod))):
        yield PredicateFailure("PodFitsHostPorts")
    if not matches_node_affinity(pod, node.metadata.name, node_labels(node)):
        yield PredicateFailure("MatchNodeSelector")


def _without_missing_resources(pod: Pod, allocatable: NodeResources, gates: FeatureGates) -> Pod:
    """The pod without requests that this node does not account for: unknown extended resources (the cluster's) and
    resources that dynamic resource allocation provides.
    """
    spec = pod.spec
    if not [container for container in (*spec.init_containers, *spec.containers) if container.resources.requests]:
        return pod
    claimed: set[tuple[str, str]] = set()
    if gates.enabled("DRAExtendedResource"):
        claim = pod.status.extended_resource_claim_status or {}
        claimed = {(m.get("containerName", ""), m.get("resourceName", "")) for m in claim.get("requestMappings") or ()}

    def is_missing(container: Container, name: str) -> bool:
        if (container.name, name) in claimed and is_dra_extended_resource_name(name):
            return True
        return is_extended_resource_name(name) and name not in allocatable.scalars

    def filtered(container: Container) -> Container:
        requests = container.resources.requests
        kept = {name: amount for name, amount in requests.items() if not is_missing(container, name)}
        if len(kept) == len(requests):
            return container
        return container.changed(resources=container.resources.changed(requests=kept))

    containers, init_containers = tuple(map(filtered, spec.containers)), tuple(map(filtered, spec.init_containers))
    if containers == spec.containers and init_containers == spec.init_containers:
        return pod
    return pod.changed(spec=spec.changed(containers=containers, init_containers=init_containers))
