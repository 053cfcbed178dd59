"""Properties of a pod that plugins need, computed once: requests, host ports, affinity terms, claims.

Mirrors: pkg/scheduler/framework/types.go PodInfo, CalculateResource; pkg/scheduler/util/pod_resources.go
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import Container, ContainerPort, Pod
from kubesim.api.pods.resources import CPU, MEMORY, pod_requests
from kubesim.cluster.scheduling.framework.affinity_terms import AffinityTerms, affinity_terms
from kubesim.cluster.scheduling.framework.cluster_event import is_resized
from kubesim.cluster.scheduling.node_info import NodeResources, host_ports
from kubesim.features import FeatureGates
from kubesim.values import replace, value_object

# Default request of a container in scores, so that pods without requests spread too.
DEFAULT_CPU = "100m"
DEFAULT_MEMORY = 200 * 1024 * 1024

LabelsKey = tuple[str, tuple[tuple[str, str], ...]]  # namespace and labels


@value_object
class PodInfo:
    pod: Pod
    requests: NodeResources  # requests of a pending pod; allocated resources of a pod on a node
    non_zero: NodeResources  # with defaults for containers without requests
    ports: tuple[ContainerPort, ...]
    terms: AffinityTerms
    labels_key: LabelsKey
    claims: tuple[str, ...]  # claims that the pod names itself

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid

    @property
    def is_terminating(self) -> bool:
        return self.pod.metadata.deletion_timestamp is not None


def pod_priority(pod: Pod) -> int:
    return pod.spec.priority or 0


def new_pod_info(pod: Pod, gates: FeatureGates) -> PodInfo:
    metadata = pod.metadata
    requests = _requests(pod, gates)
    completed = _with_default_requests(pod)
    return PodInfo(
        pod,
        requests,
        requests if completed is pod else _requests(completed, gates),
        tuple(host_ports(pod)),
        affinity_terms(pod),
        (metadata.namespace, tuple(sorted(metadata.labels.items()))),
        tuple(_named_claims(pod)),
    )


def updated_pod_info(info: PodInfo, pod: Pod, gates: FeatureGates) -> PodInfo:
    """The PodInfo of an updated pod. The generation shows whether its spec changed: a binding keeps it, a resize does
    not.
    """
    old, new = info.pod.metadata, pod.metadata
    if old.generation == new.generation and old.labels == new.labels and not is_resized(info.pod):
        return replace(info, pod=pod)
    return new_pod_info(pod, gates)


def _requests(pod: Pod, gates: FeatureGates) -> NodeResources:
    return NodeResources.of(
        pod_requests(
            pod,
            use_status=bool(pod.spec.node_name) and gates.enabled("InPlacePodVerticalScaling"),
            use_pod_level_status=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
            skip_pod_level=not gates.enabled("PodLevelResources"),
        )
    )


def _with_default_requests(pod: Pod) -> Pod:
    """The pod with default requests for cpu and memory."""
    spec = pod.spec
    if not any(map(_lacks_request, (*spec.init_containers, *spec.containers))):
        return pod
    return pod.changed(
        spec=spec.changed(
            containers=tuple(map(_completed, spec.containers)),
            init_containers=tuple(map(_completed, spec.init_containers)),
        )
    )


def _lacks_request(container: Container) -> bool:
    return CPU not in container.resources.requests or MEMORY not in container.resources.requests


def _completed(container: Container) -> Container:
    if not _lacks_request(container):
        return container
    requests = {CPU: DEFAULT_CPU, MEMORY: str(DEFAULT_MEMORY), **container.resources.requests}
    return container.changed(resources=container.resources.changed(requests=requests))


def _named_claims(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        claim = volume.get("persistentVolumeClaim")
        if claim is not None:
            yield claim.get("claimName", "")
