"""An allocation manager with fake dependencies, on a node with 4 cpus and 4Gi."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.admission.node_admission import NodeAdmission
from kubesim.kubelet.admission.preemption import CriticalPodAdmission
from kubesim.kubelet.context import KubeletContext, PodSources, PodViews
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.resize.allocation_manager import AllocationManager
from kubesim.kubelet.resize.resize_feasibility import NodePolicies
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.status.manager import StatusManager
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.runtime.allocation.allocated import AllocationState
from kubesim.runtime.allocation.swap import NodeSwap
from kubesim.runtime.pod_cache import PodCache
from kubesim.trace import Recorder
from tests.support.fakes.events import RecordedEvents

Json = dict[str, Any]
NODE = Node.from_json(
    {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "110"}}}
)


def make(uid: str, cpu: str, memory: str = "500Mi", *, generation: int = 1, **more: Any) -> Pod:
    resources: dict[str, Any] = {"requests": {"cpu": cpu, "memory": memory}}
    if more.pop("limited", False):
        resources["limits"] = resources["requests"]
    status = more.pop("status", {})
    spec = {"containers": [{"name": "c1", "resources": resources}], **more}
    return Pod.from_json(
        {"metadata": {"name": uid, "uid": uid, "generation": generation}, "spec": spec, "status": status}
    )


class AllocatingKubelet(RecordedEvents):
    """An allocation manager with fake dependencies, on a node with 4 cpus and 4Gi."""

    kind: type[AllocationManager] = AllocationManager

    def __init__(
        self,
        policies: NodePolicies | None = None,
        state: AllocationState | None = None,
        gates: FeatureGates = DEFAULT_GATES,
        swap: NodeSwap | None = None,
    ) -> None:
        super().__init__()
        self.clock = LoopClock()
        self.pods = PodManager()
        self.state = state or AllocationState()
        self.synced: list[str] = []

        async def kill(pod: Pod, **_: Any) -> None:
            raise AssertionError("nobody is preempted here")

        settings = KubeletSettings(policies=policies or NodePolicies(), swap=swap)
        context = KubeletContext(self.clock, Randomness(1), Recorder(self.clock), TaskSet(), settings, self, gates)
        statuses = StatusManager(None, self.pods, lambda pod: False, self.clock, context.recorder)
        self.conditions = statuses.resize
        self.sources = PodSources(lambda seen: True, all_ready=True)
        self.manager = self.kind(
            context,
            PodViews(self.pods, PodSyncStatuses(), PodCache(), statuses, Resyncs(self.clock), self.sources),
            self.state,
            NodeAdmission(lambda: NODE, gates),
            CriticalPodAdmission(self.pods.pods, kill, self, gates),
            lambda pod: self.synced.append(pod.metadata.uid),
        )

    async def add(self, *pods: Pod) -> list[tuple[str, str]]:
        answers = []
        for added in pods:
            self.pods.update(added)
            answers.append(await self.manager.add_pod(added))
        return answers

    async def resize(self, pod: Pod) -> list[tuple[str, str, int]]:
        """Resize a pod; returns type, reason and generation of the resulting conditions."""
        self.pods.update(pod)
        self.manager.pods_changed()
        await self.manager.push_pending_resize(pod.metadata.uid)
        await self.manager.retry_pending_resizes()
        return self.reported(pod.metadata.uid)

    def reported(self, uid: str) -> list[tuple[str, str, int]]:
        return [(c.type, c.reason, c.observed_generation) for c in self.conditions.get(uid)]

    def allocated_cpu(self, uid: str) -> str:
        allocation = self.state.get(uid)
        assert allocation is not None
        return str(allocation.containers["c1"].requests["cpu"])


def played(story: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
    run_virtual(story, *args)


def amounts(cpu: str = "", memory: str = "") -> Json:
    return {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}


def resizable_pod(
    uid: str,
    *containers: Json,
    init: tuple[Json, ...] = (),
    resources: Json | None = None,
    generation: int = 1,
    **more: Any,
) -> Pod:
    status = more.pop("status", {})
    spec: Json = {"containers": list(containers), "initContainers": list(init), **more}
    if resources is not None:
        spec["resources"] = resources
    metadata = {"name": uid, "namespace": "ns", "uid": uid, "generation": generation}
    return Pod.from_json({"metadata": metadata, "spec": spec, "status": status})


def container(name: str, requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    resources = {kind: value for kind, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": name, "image": "i", "resources": resources, **more}
