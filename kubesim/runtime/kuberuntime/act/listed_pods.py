"""The pods of the runtime as they were last listed.

Every relist and every clean-up lists all pods. Only those that the runtime has changed since are put together again:
without that, 10,000 pods cost twice as much each as 110.
Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go GetPods
"""

from __future__ import annotations

from operator import attrgetter

from kubesim.errors import RuntimeCallError
from kubesim.runtime.kuberuntime.act.pod_listing import group_by_pod, running_part, runtime_pod
from kubesim.runtime.protocol import ContainerInfo, Runtime, SandboxInfo
from kubesim.runtime.types import RuntimePod

_CREATED_AT = attrgetter("created_at")
_ALL = ""  # what the runtime reports if it does not know which pod has changed


class ListedPods:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._pods: dict[str, RuntimePod] = {}
        self._running: dict[str, RuntimePod] = {}
        self._changed = {_ALL}
        runtime.on_change(lambda uid: self._changed.add(uid))

    async def get(self) -> dict[str, RuntimePod]:
        """All pods, by uid; among those that have changed since the last time, the newest first."""
        changed, self._changed = self._changed, set()
        try:
            sandboxes = await self._runtime.list_pod_sandboxes()
            containers = await self._runtime.list_containers()
        except RuntimeCallError:
            self._changed |= changed
            raise
        if changed:
            self._update(changed, sandboxes, containers)
        return dict(self._pods)

    async def get_running(self) -> dict[str, RuntimePod]:
        """What runs of each pod of which anything does, by uid."""
        await self.get()
        return dict(self._running)

    def _update(self, changed: set[str], sandboxes: list[SandboxInfo], containers: list[ContainerInfo]) -> None:
        if _ALL in changed:
            self._pods, self._running = {}, {}
        else:
            sandboxes = [info for info in sandboxes if info.pod_uid in changed]
            containers = [info for info in containers if info.pod_uid in changed]
            for uid in changed:
                self._pods.pop(uid, None)
                self._running.pop(uid, None)
        pods = [runtime_pod(uid, *infos) for uid, infos in group_by_pod(sandboxes, containers).items()]
        pods.sort(key=_CREATED_AT, reverse=True)
        self._pods = {pod.uid: pod for pod in pods} | self._pods
        self._running.update((part.uid, part) for part in map(running_part, pods) if part is not None)
