"""The number of exclusive CPUs that a container or a pod requests.

Only a Guaranteed pod gets exclusive CPUs, and only for a whole number of CPUs.

Mirrors: pkg/kubelet/cm/cpumanager/policy_static.go guaranteedCPUs, podGuaranteedCPUs, validatePodScopeResources;
pkg/kubelet/cm/qos
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod, ResourceList
from kubesim.api.pods.resources import CPU, GUARANTEED, MEMORY, is_pod_level_resources_set, pod_qos_class
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.quantity import ZERO, Quantity, quantity
from kubesim.features import FeatureGates
from kubesim.kubelet.cm.admission import EMPTY_POD_SHARED_POOL, AllocationError


def guaranteed_cpus(pod: Pod, container: Container, gates: FeatureGates) -> int:
    if pod_qos_class(pod, gates) != GUARANTEED:
        return 0
    if manages_pod_level(pod, gates) and not is_container_equivalent_qos_guaranteed(container):
        return 0
    return _whole(amount(container.resources.requests, CPU))


def pod_guaranteed_cpus(pod: Pod, gates: FeatureGates) -> int:
    """CPUs that the pod needs at any one time: init containers run one after the other, next to earlier sidecars."""
    if manages_pod_level(pod, gates):
        requests = pod.spec.resources.requests if pod.spec.resources is not None else {}
        return _whole(amount(requests, CPU)) if pod_qos_class(pod, gates) == GUARANTEED else 0
    by_init, by_sidecars = 0, 0
    for container in pod.spec.init_containers:
        requested = guaranteed_cpus(pod, container, gates)
        if is_restartable_init_container(container):
            by_sidecars += requested
        else:
            by_init = max(by_init, by_sidecars + requested)
    return max(by_init, by_sidecars + sum(guaranteed_cpus(pod, each, gates) for each in pod.spec.containers))


def validate_pod_scope_resources(pod: Pod, gates: FeatureGates) -> None:
    """Raises AllocationError if the containers that share the pod's CPUs would have none left."""
    total, exclusive, is_shared = pod_guaranteed_cpus(pod, gates), 0, False
    for container in pod.spec.init_containers:
        cpus = guaranteed_cpus(pod, container, gates)
        if is_restartable_init_container(container):
            exclusive += cpus
            is_shared = is_shared or cpus == 0
        elif cpus == 0 and exclusive >= total:
            raise AllocationError(
                "pod rejected, pod has shared init containers but no cpus available for them", EMPTY_POD_SHARED_POOL
            )
    for container in pod.spec.containers:
        cpus = guaranteed_cpus(pod, container, gates)
        exclusive += cpus
        is_shared = is_shared or cpus == 0
    if is_shared and exclusive >= total:
        raise AllocationError(
            "pod rejected, sum of exclusive container cpu requests equals pod budget, "
            "leaving no cpus for shared containers",
            EMPTY_POD_SHARED_POOL,
        )


def manages_pod_level(pod: Pod, gates: FeatureGates) -> bool:
    return gates.enabled("PodLevelResourceManagers") and is_pod_level_resources_set(pod)


def skips_pod_level(pod: Pod, gates: FeatureGates) -> bool:
    """Whether to skip a pod with pod-level resources because pod-level management is off."""
    known = gates.enabled("PodLevelResourceManagers") and gates.enabled("PodLevelResources")
    return not known and is_pod_level_resources_set(pod)


def is_container_equivalent_qos_guaranteed(container: Container) -> bool:
    """Whether cpu and memory have requests and limits, and they are equal."""
    requests, limits = container.resources.requests, container.resources.limits
    return all(
        not amount(requests, name).is_zero and amount(requests, name) == amount(limits, name) for name in (CPU, MEMORY)
    )


def amount(resources: ResourceList, name: str) -> Quantity:
    return quantity(resources[name]) if name in resources else ZERO


def _whole(cpus: Quantity) -> int:
    """The number of CPUs; 0 for a fraction."""
    return cpus.value() if cpus.value() * 1000 == cpus.milli_value() else 0
