"""Minimal API servers for single parts of the kubelet."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.event import Event
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import ApiError


class PodServer:
    """An API server with a latency of 10 ms."""

    def __init__(self, clock: LoopClock, *pods: Pod) -> None:
        self.clock = clock
        self.pods = {pod.metadata.name: pod for pod in pods}
        self.calls: list[tuple[float, str, str]] = []
        self.broken = False
        self.watcher: Callable[[str], None] = lambda name: None

    async def _take(self, verb: str, name: str, detail: str = "") -> Pod:
        self.calls.append((self.clock.elapsed() / SECOND, verb, detail or name))
        await self.clock.sleep(10_000)
        if self.broken:
            raise ApiError(0, "", "connection refused")
        if name not in self.pods:
            raise ApiError(404, "NotFound", f'pods "{name}" not found')
        return self.pods[name]

    async def get_pod(self, namespace: str, name: str) -> Pod:
        return await self._take("get", name)

    async def patch_pod_status(self, namespace: str, name: str, uid: str, old: PodStatus, new: PodStatus) -> Pod:
        pod = await self._take("patch", name, new.phase)
        self.pods[name] = pod.changed(status=new)
        self.watcher(name)
        return self.pods[name]

    async def delete_pod(self, namespace: str, name: str, uid: str = "", *, grace_period_seconds: int = 0) -> None:
        await self._take("delete", name)
        del self.pods[name]

    def writes(self) -> list[tuple[float, str, str]]:
        return [call for call in self.calls if call[1] != "get"]


class EventServer:
    """Accepts Events, unless it is down."""

    def __init__(self, clock: LoopClock) -> None:
        self.clock = clock
        self.calls: list[tuple[float, str, Event]] = []
        self.down_until = 0.0
        self.gone = False

    async def _take(self, verb: str, event: Event) -> Event:
        now = self.clock.elapsed() / SECOND
        if now < self.down_until:
            raise ApiError(0, "", "connection refused")
        self.calls.append((now, verb, event))
        if verb == "patch" and self.gone:
            raise ApiError(404, "NotFound", "gone")
        return event

    async def create_event(self, event: Event) -> Event:
        return await self._take("create", event)

    async def patch_event(self, event: Event) -> Event:
        return await self._take("patch", event)
