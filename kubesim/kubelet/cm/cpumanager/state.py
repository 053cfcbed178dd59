"""Which CPUs are assigned to which container, and which are shared by all the others.

Mirrors: pkg/kubelet/cm/cpumanager/state/state.go, state_mem.go, state_checkpoint.go
"""

from __future__ import annotations

from dataclasses import field

from kubesim.kubelet.cm.machine import MachineError
from kubesim.runtime.allocation.cpuset import NO_CPUS, CpuSet
from kubesim.values import mutable

Assignments = dict[str, dict[str, CpuSet]]  # by pod uid and container name


@mutable
class CpuState:
    """On the kubelet's disk as `cpu_manager_state`."""

    policy: str = ""  # empty: nothing was stored yet
    default_cpus: CpuSet = NO_CPUS
    assignments: Assignments = field(default_factory=dict)
    pods: dict[str, CpuSet] = field(default_factory=dict)  # pod-level assignments, by pod uid

    def get(self, uid: str, container: str) -> CpuSet | None:
        return self.assignments.get(uid, {}).get(container)

    def get_or_default(self, uid: str, container: str) -> CpuSet:
        cpus = self.get(uid, container)
        return self.default_cpus if cpus is None else cpus

    def set(self, uid: str, container: str, cpus: CpuSet) -> None:
        self.assignments.setdefault(uid, {})[container] = cpus

    def delete(self, uid: str, container: str) -> None:
        of_pod = self.assignments.get(uid, {})
        of_pod.pop(container, None)
        if not of_pod:
            self.assignments.pop(uid, None)


def restore(state: CpuState, policy: str) -> None:
    """Take up what an earlier kubelet stored. Raises MachineError if that had another policy."""
    if state.policy and state.policy != policy:
        raise MachineError(
            "could not restore state from checkpoint: "
            f'configured policy "{policy}" differs from state checkpoint policy "{state.policy}", please drain this '
            'node and delete the CPU manager checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting '
            "Kubelet"
        )
    state.policy = policy
