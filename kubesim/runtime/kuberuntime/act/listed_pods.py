"""The pods of the runtime as they were last listed.

Every relist and every clean-up lists all pods. Only those that the runtime has changed since are put together again:
without that, 10,000 pods cost twice as much each as 110.
Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go GetPods
"""

from __future__ import annotations

from kubesim.runtime.kuberuntime.act.pod_listing import group_by_pod, running_part, runtime_pod
from kubesim.runtime.protocol import ContainerInfo, Runtime, SandboxInfo
from kubesim.runtime.types import RuntimePod

_ALL = ""  # what the runtime reports if it does not know which pod has changed


class ListedPods:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._pods: dict[str, RuntimePod] = {}
        self._running: dict[str, RuntimePod] = {}
        self._changed = {_ALL}
        runtime.on_change(lambda uid: self._changed.add(uid))

    async def get(self) -> dict[str, RuntimePod]:
        """All pods, by uid."""
        changed, self._changed = self._changed, set()
        sandboxes, containers = await self._list(changed)
        if changed:
            self._update(changed, sandboxes, containers)
        return dict(self._pods)

    async def get_one(self, uid: str) -> RuntimePod | None:
        """None if there is nothing of it."""
        self._changed.discard(uid)
        sandboxes, containers = await self._list({uid}, uid)
        self._forget(uid)
        return self._hold(uid, sandboxes, containers) if sandboxes or containers else None

    async def get_running(self) -> dict[str, RuntimePod]:
        """What runs of each pod of which anything does, by uid."""
        await self.get()
        return dict(self._running)

    async def _list(self, changed: set[str], uid: str | None = None) -> tuple[list[SandboxInfo], list[ContainerInfo]]:
        """Of one pod or of all. If that fails or is cancelled, those that have changed stay so."""
        try:
            return await self._runtime.list_pod_sandboxes(uid), await self._runtime.list_containers(uid)
        except BaseException:
            self._changed |= changed
            raise

    def _update(self, changed: set[str], sandboxes: list[SandboxInfo], containers: list[ContainerInfo]) -> None:
        if _ALL in changed:
            self._pods, self._running = {}, {}
        else:
            sandboxes = [info for info in sandboxes if info.pod_uid in changed]
            containers = [info for info in containers if info.pod_uid in changed]
            for uid in changed:
                self._forget(uid)
        for uid, infos in group_by_pod(sandboxes, containers).items():
            self._hold(uid, *infos)

    def _forget(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._running.pop(uid, None)

    def _hold(self, uid: str, sandboxes: list[SandboxInfo], containers: list[ContainerInfo]) -> RuntimePod:
        pod = self._pods[uid] = runtime_pod(uid, sandboxes, containers)
        part = running_part(pod)
        if part is not None:
            self._running[uid] = part
        return pod
