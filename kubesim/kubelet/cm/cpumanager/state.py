"""CPU assignments of containers, and the shared pool.

Mirrors: pkg/kubelet/cm/cpumanager/state/state.go, state_mem.go, state_checkpoint.go
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import ClassVar

from kubesim.kubelet.cm.machine import MachineError
from kubesim.runtime.allocation.cpuset import NO_CPUS, CpuSet
from kubesim.runtime.allocation.state_file import nothing_watches
from kubesim.values import mutable

Assignments = dict[str, dict[str, CpuSet]]  # by pod UID and container name


@mutable
class CpuState:
    """The contents of `cpu_manager_state` on the kubelet's disk."""

    CONTENT: ClassVar[tuple[str, ...]] = ("policy", "default_cpus", "assignments", "pods")
    policy: str = ""  # empty: no state is stored
    default_cpus: CpuSet = NO_CPUS
    assignments: Assignments = field(default_factory=dict)
    pods: dict[str, CpuSet] = field(default_factory=dict)  # pod-level assignments, by pod UID
    on_write: Callable[[], object] = nothing_watches

    def get(self, uid: str, container: str) -> CpuSet | None:
        return self.assignments.get(uid, {}).get(container)

    def get_or_default(self, uid: str, container: str) -> CpuSet:
        cpus = self.get(uid, container)
        return self.default_cpus if cpus is None else cpus

    def set(self, uid: str, container: str, cpus: CpuSet) -> None:
        self.assignments.setdefault(uid, {})[container] = cpus
        self.on_write()

    def set_default(self, cpus: CpuSet) -> None:
        self.default_cpus = cpus
        self.on_write()

    def set_pod(self, uid: str, cpus: CpuSet) -> None:
        self.pods[uid] = cpus
        self.on_write()

    def delete(self, uid: str, container: str) -> None:
        of_pod = self.assignments.get(uid, {})
        of_pod.pop(container, None)
        if not of_pod:
            self.assignments.pop(uid, None)
        self.on_write()


def restore(state: CpuState, policy: str) -> None:
    """Restore the stored state. Raises MachineError if its policy differs."""
    if state.policy and state.policy != policy:
        raise MachineError(
            "could not restore state from checkpoint: "
            f'configured policy "{policy}" differs from state checkpoint policy "{state.policy}", please drain this '
            'node and delete the CPU manager checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting '
            "Kubelet"
        )
    state.policy = policy
