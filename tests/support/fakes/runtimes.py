"""Partial container runtimes for single parts of the kubelet."""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.protocol import CallContext, ExecResult, ImageInfo, SandboxConfig
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from tests.support.fakes.events import RecordedEvents


class Registry(RecordedEvents):
    """A runtime that pulls any image in two seconds; images with the same id have the same content."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__()
        self.clock = clock
        self.present: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.failure = ""
        self.pulls: list[tuple[float, str]] = []

    async def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> str:
        self.pulls.append((self.clock.elapsed() / SECOND, image))
        await self.clock.sleep(2 * SECOND)
        if self.failure:
            raise RuntimeCallError(self.failure)
        self.present[image] = self.ids.get(image, f"id-of-{image}")
        return self.present[image]

    async def image_status(self, image: str) -> ImageInfo | None:
        return ImageInfo(self.present[image], size=1234) if image in self.present else None


class OnePod:
    """A runtime with one pod, whose status may be unavailable."""

    def __init__(self, pod: RuntimePod | None = None, status: RuntimePodStatus | None = None) -> None:
        self._pod = pod
        self._status = status

    async def get_pod(self, uid: str) -> RuntimePod | None:
        return self._pod

    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus:
        if self._status is None:
            raise RuntimeCallError("gone")
        return self._status


class Commands:
    """The part of a runtime that probes use."""

    def __init__(self, *outcomes: ExecResult | Exception) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[tuple[str, tuple[str, ...], int]] = []

    async def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> ExecResult:
        self.calls.append((container_id, command, timeout))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
