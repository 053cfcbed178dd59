"""Cache of the runtime's listed pods.

Every relist and every cleanup lists all pods, but only changed pods are assembled again. Without this cache, each of
10,000 pods costs twice as much as each of 110.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go GetPods
"""

from __future__ import annotations

from collections.abc import Collection

from kubesim.runtime.kuberuntime.act.pod_listing import group_by_pod, running_part, runtime_pod
from kubesim.runtime.protocol import ContainerInfo, Runtime, SandboxInfo
from kubesim.runtime.types import RUNTIME_NAME, RuntimePod

_ALL = ""  # reported by the runtime if it does not know which pod has changed


class ListedPods:
    """Listings can run concurrently, and can fail or take minutes: a pod counts as changed until a listing that started
    after the change has been read.
    """

    def __init__(self, runtime: Runtime, runtime_name: str = RUNTIME_NAME) -> None:
        self._runtime = runtime
        self._runtime_name = runtime_name
        self._pods: dict[str, RuntimePod] = {}
        self._running: dict[str, RuntimePod] = {}
        self._changes = 0
        self._changed = {_ALL: 0}  # pods to assemble again, with the number of their last change
        runtime.on_change(self._pod_changed)

    def _pod_changed(self, uid: str) -> None:
        self._changes += 1
        self._changed[uid] = self._changes

    async def get(self) -> dict[str, RuntimePod]:
        """All pods, by UID."""
        begun = self._changes
        sandboxes, containers = await self._runtime.list_pod_sandboxes(), await self._runtime.list_containers()
        if self._changed:
            self._update(self._changed.keys(), sandboxes, containers)
            self._changed = {uid: number for uid, number in self._changed.items() if number > begun}
        return dict(self._pods)

    async def get_one(self, uid: str) -> RuntimePod | None:
        """One pod; None if it is not listed."""
        begun = self._changes
        sandboxes, containers = await self._runtime.list_pod_sandboxes(uid), await self._runtime.list_containers(uid)
        pod = runtime_pod(uid, sandboxes, containers, self._runtime_name) if sandboxes or containers else None
        if self._changed.get(uid, begun + 1) <= begun:
            self._store(uid, pod)
            del self._changed[uid]
        return pod

    async def get_running(self) -> dict[str, RuntimePod]:
        """Running parts of pods, by UID."""
        await self.get()
        return dict(self._running)

    def _update(self, changed: Collection[str], sandboxes: list[SandboxInfo], containers: list[ContainerInfo]) -> None:
        if _ALL in changed:
            self._pods, self._running = {}, {}
        else:
            sandboxes = [info for info in sandboxes if info.pod_uid in changed]
            containers = [info for info in containers if info.pod_uid in changed]
            for uid in changed:
                self._store(uid, None)
        for uid, infos in group_by_pod(sandboxes, containers).items():
            self._store(uid, runtime_pod(uid, *infos, self._runtime_name))

    def _store(self, uid: str, pod: RuntimePod | None) -> None:
        for pods, new in ((self._pods, pod), (self._running, None if pod is None else running_part(pod))):
            if new is None:
                pods.pop(uid, None)
            else:
                pods[uid] = new
