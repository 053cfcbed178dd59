"""The CPU manager with the static policy: allocates at admission, and keeps the containers' cpusets up to date.

Containers without exclusive CPUs run on the shared pool. The pool changes with every allocation and release, so the
manager rewrites their cpusets every few seconds.

Mirrors: pkg/kubelet/cm/cpumanager/cpu_manager.go
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from kubesim.api.pod import Container, ContainerStatus, Pod, PodStatus
from kubesim.api.pods.resources import is_pod_level_resources_set
from kubesim.clock import LoopClock
from kubesim.concurrency import act_every
from kubesim.errors import RuntimeCallError
from kubesim.features import FeatureGates
from kubesim.kubelet.cm.active_pods import ActivePods
from kubesim.kubelet.cm.cpumanager.policy_static import POD_LEVEL, Affinity, StaticPolicy, new_static_policy
from kubesim.kubelet.cm.cpumanager.requests import amount, is_container_equivalent_qos_guaranteed, manages_pod_level
from kubesim.kubelet.cm.cpumanager.state import CpuState, restore
from kubesim.kubelet.cm.cpumanager.topology import discover
from kubesim.kubelet.cm.cpumanager.topology_hints import pod_topology_hints, topology_hints
from kubesim.kubelet.cm.machine import MachineError
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.cm.topologymanager.hints import Hints
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.runtime.allocation.cpuset import NO_CPUS, CpuSet, format_cpus
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.types import RuntimeResources, bare_id
from kubesim.values import part

STATIC = "static"
Report = Callable[[Pod | None, str, str], None]  # pod, container name, and the message for the trace


@part
class CpuManager:
    """The CPU manager; implements `HintProvider`."""

    policy: StaticPolicy
    active: ActivePods
    runtime: Runtime
    status: Callable[[str], PodStatus | None]  # reported pod status, by UID
    report: Report
    _written: dict[tuple[str, str], CpuSet] = field(default_factory=dict)  # last cpuset written for each container
    _pods: dict[str, Pod] = field(default_factory=dict)  # by UID, for callers without the pod

    def start(self) -> None:
        """Restore the state. Raises MachineError if it is unusable."""
        restore(self.policy.state, STATIC)
        self.policy.start()

    # -- admission ----------------------------------------------------------------------------------------------

    def topology_hints(self, pod: Pod, container: Container) -> Hints:
        self._remove_stale_state()
        return topology_hints(self.policy, pod, container)

    def pod_topology_hints(self, pod: Pod) -> Hints:
        self._remove_stale_state()
        return pod_topology_hints(self.policy, pod)

    def allocate(self, pod: Pod, container: Container) -> None:
        self._remove_stale_state()
        state, uid = self.policy.state, pod.metadata.uid
        before = state.get(uid, container.name)
        self.policy.allocate(pod, container)
        cpus = state.get(uid, container.name)
        if before is None and cpus is not None:
            self._report_assignment(pod, container, cpus)

    def allocate_pod(self, pod: Pod) -> None:
        self._remove_stale_state()
        self.policy.allocate_pod(pod)
        for container in all_containers(pod):
            cpus = self.policy.state.get(pod.metadata.uid, container.name)
            if cpus is not None:
                self._report_assignment(pod, container, cpus)

    def _report_assignment(self, pod: Pod, container: Container, cpus: CpuSet) -> None:
        nodes = self.policy.topology.details.keep_only(cpus).ids("numa")
        self._pods[pod.metadata.uid] = pod
        own = f"CPUs {format_cpus(cpus)} of NUMA node {format_cpus(nodes)} are its own"
        shared = f"the shared pool is {format_cpus(self.policy.state.default_cpus)}"
        self.report(pod, container.name, f"{own}: the pod is Guaranteed and requests whole CPUs; {shared}")

    def _remove_stale_state(self) -> bool:
        state, some = self.policy.state, False
        for uid, name in self.active.stale(state.assignments):
            cpus = state.get(uid, name) or NO_CPUS
            self.policy.remove_container(uid, name)
            self._written.pop((uid, name), None)
            whose = "" if uid in self._pods else f" of pod {uid}"
            text = f"CPUs {format_cpus(cpus)}{whose} are free again: the pod is not active any more"
            self.report(self._pods.get(uid), name, f"{text}; the shared pool is {format_cpus(state.default_cpus)}")
            some = True
            if uid not in state.assignments:
                self._pods.pop(uid, None)
        return some

    # -- containers ---------------------------------------------------------------------------------------------

    def affinity(self, uid: str, container: str) -> CpuSet:
        """The CPU set of a container."""
        return self.policy.state.get_or_default(uid, container)

    def has_exclusive_cpus(self, pod: Pod, container: Container) -> bool:
        """Whether the container has exclusive CPUs."""
        cpus = self.policy.state.get(pod.metadata.uid, container.name)
        if not self.policy.gates.enabled(POD_LEVEL):
            return bool(cpus)
        if cpus is None:
            return False
        limit = amount(container.resources.limits, "cpu")
        is_whole = limit.value() * 1000 == limit.milli_value()
        return not is_pod_level_resources_set(pod) or (is_container_equivalent_qos_guaranteed(container) and is_whole)

    def pod_has_exclusive_cpus(self, pod: Pod) -> bool:
        """Whether any container has exclusive CPUs. With pod-level resources, whether all of them do."""
        has = [self.has_exclusive_cpus(pod, container) for container in all_containers(pod)]
        return all(has) if manages_pod_level(pod, self.policy.gates) else any(has)

    def add_container(self, pod: Pod, container: Container) -> None:
        """Record a container that was created with its CPUs."""
        cpus = self.policy.state.get(pod.metadata.uid, container.name)
        if cpus is not None:
            self._written[pod.metadata.uid, container.name] = cpus

    async def run(self, clock: LoopClock, period: int) -> None:
        await act_every(clock, "cpu manager", period, self.reconcile)

    async def reconcile(self) -> bool:
        """Write the cpusets of running containers that differ from the last write; true if any did."""
        changed = self._remove_stale_state()
        for pod in self.active.pods():
            status = self.status(pod.metadata.uid)
            if status is not None:
                for container in all_containers(pod):
                    changed |= await self._reconcile(pod.metadata.uid, container.name, status)
        return changed

    async def _reconcile(self, uid: str, name: str, status: PodStatus) -> bool:
        found = find_container_status(status, name)
        if found is None or not found.container_id or found.state.running is None:
            return False
        cpus = self.affinity(uid, name)
        if not cpus or self._written.get((uid, name)) == cpus:
            return False
        try:
            update = RuntimeResources(cpuset_cpus=format_cpus(cpus))
            await self.runtime.update_container_resources(bare_id(found.container_id), update)
        except RuntimeCallError:
            return True  # the next round tries again
        self._written[uid, name] = cpus
        return True


def find_container_status(status: PodStatus, name: str) -> ContainerStatus | None:
    for each in (*status.init_container_statuses, *status.container_statuses):
        if each.name == name:
            return each
    return None


def new_policy(
    settings: ResourceManagerSettings, state: CpuState, affinity: Affinity, gates: FeatureGates
) -> StaticPolicy:
    """Create the policy. Raises MachineError if the configuration does not fit the machine."""
    topology = discover(settings.machine)
    reserved = settings.reservation.get("cpu")
    if reserved is None:
        raise MachineError("[cpumanager] unable to determine reserved CPU resources for static policy")
    if reserved.is_zero:
        raise MachineError(
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
        )
    try:
        return new_static_policy(
            topology,
            state,
            -(-reserved.milli_value() // 1000),
            settings.reserved_cpus,
            affinity,
            topology_policy=settings.topology_policy,
            options=settings.cpu_options,
            gates=gates,
        )
    except MachineError as error:
        raise MachineError(f"new static policy error: {error}") from None
