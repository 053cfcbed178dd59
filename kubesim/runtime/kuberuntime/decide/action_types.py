"""Inputs and result of compute_pod_actions: the actions of one sync of a pod.

Three modules (actions, init_actions, resize_actions) fill one PodActions; the runtime manager only reads it.

Mirrors: kuberuntime_manager.go podActions, containerToKillInfo, containerToUpdateInfo, containerToRemoveInfo,
resourceRequirements.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Literal

from kubesim.api.pod import Container, Pod, ResourceRequirements
from kubesim.features import FeatureGates
from kubesim.runtime.kuberuntime.decide.termination import KillReason
from kubesim.runtime.types import ContainerRecord, ProbeResult, RuntimePodStatus
from kubesim.values import mutable, value_object

ResizableResource = Literal["cpu", "memory"]


@value_object
class ContainerToKill:
    """A container to kill; `message` is that of the Killing Event."""

    id: str
    name: str
    container: Container
    reason: KillReason
    message: str


@value_object
class ContainerResources:
    """Resources that can change while a container runs: bytes and milli-CPUs; 0: unset."""

    memory_limit: int = 0
    memory_request: int = 0
    cpu_limit_milli: int = 0
    cpu_request_milli: int = 0


@value_object
class ContainerToUpdate:
    container: Container
    id: str
    desired: ContainerResources
    current: ContainerResources


@value_object
class ContainerToReset:
    """A record to remove because all containers restart; a running container is killed first."""

    id: str
    container: Container
    kill: bool


@mutable(kw_only=True)
class PodActions:
    """The actions, in the order in which SyncPod executes them. `why` has one sentence per decision."""

    kill_pod: bool
    create_sandbox: bool
    sandbox_id: str
    attempt: int
    init_containers_to_start: list[Container] = field(default_factory=list)
    containers_to_start: list[Container] = field(default_factory=list)
    ephemeral_containers_to_start: list[Container] = field(default_factory=list)
    containers_to_kill: dict[str, ContainerToKill] = field(default_factory=dict)
    containers_to_update: dict[ResizableResource, list[ContainerToUpdate]] = field(default_factory=dict)
    update_pod_resources: bool = False
    update_pod_level_resources: bool = False
    containers_to_reset: list[ContainerToReset] = field(default_factory=list)
    why: tuple[str, ...] = ()

    def stops_something(self) -> bool:
        return self.kill_pod or bool(self.containers_to_kill or self.containers_to_reset)

    def starts_something(self) -> bool:
        return self.create_sandbox or bool(
            self.containers_to_start or self.init_containers_to_start or self.ephemeral_containers_to_start
        )

    def resizes_something(self) -> bool:
        return self.update_pod_resources or self.update_pod_level_resources or bool(self.containers_to_update)

    def kill(self, record: ContainerRecord, container: Container, reason: KillReason, message: str) -> None:
        self.containers_to_kill[record.id] = ContainerToKill(record.id, record.name, container, reason, message)


@mutable
class Decision:
    """State of one computation: its inputs, the actions so far, and their reasons."""

    pod: Pod
    status: RuntimePodStatus
    liveness: Mapping[str, ProbeResult]
    startup: Mapping[str, ProbeResult]
    actuated: Mapping[str, ResourceRequirements]
    actuated_pod: ResourceRequirements | None
    gates: FeatureGates
    newest: Mapping[str, ContainerRecord]  # newest record of each container name
    actions: PodActions
    why: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # names of running containers that stay unchanged
    refused: Collection[str] = ()  # names of containers whose resize was refused
