"""Parts of a sandbox service that record their calls, and fail on request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from kubesim.cni.exec.context import Context
from kubesim.cni.gocni_result import CNIResult
from kubesim.cni.pod_config import PodNetworkConfig
from kubesim.cni.pod_network import PodNetwork
from kubesim.errors import CniError, RuntimeCallError
from kubesim.runtime.containerd.sandbox import Parts, PodSandbox, SandboxRequest, SandboxStartFailed
from kubesim.runtime.protocol import UserNamespace


def request(attempt: int = 0, id: str = "s1", **more: object) -> SandboxRequest:
    pod = PodNetworkConfig("web", "default", "uid", {})
    return SandboxRequest(id, "web", "default", "uid", attempt, pod, **more)  # type: ignore[arg-type]


@dataclass
class Diary:
    """The calls in order; `failing` maps a step to its error."""

    failing: dict[str, str] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)

    def note(self, step: str, error: type[Exception] = RuntimeCallError) -> None:
        self.entries.append(step)
        if step in self.failing:
            raise error(self.failing[step])


class FakeController:
    """A sandbox that starts, or fails with an error."""

    def __init__(self, start: str = "") -> None:
        self.start_error = start

    async def create(self, sandbox: PodSandbox) -> None: ...
    async def ensure_image(self, sandbox: PodSandbox) -> None: ...
    async def pin_user_namespace(self, sandbox: PodSandbox) -> None: ...

    async def start(self, sandbox: PodSandbox) -> None:
        if self.start_error:
            raise SandboxStartFailed(self.start_error)

    async def stop(self, sandbox: PodSandbox) -> None: ...
    async def shut_down(self, sandbox: PodSandbox) -> None: ...


class FakeParts:
    """All parts of a service with one diary. Namespaces are names in `namespaces`."""

    def __init__(self, diary: Diary, left_behind: str = "") -> None:
        self.diary = diary
        self.namespaces: set[str] = set()
        self.namespaces_stick = False  # removal succeeds, but it still exists
        self.stored: dict[str, PodSandbox] = {}
        self.left_behind = left_behind

    def parts(self) -> Parts:
        return Parts(
            _Namespaces(self),
            _Networking(self),
            _Controller(self),
            _Store(self),
            stop_containers=self._noting("stop containers"),
            remove_containers=self._noting("remove containers"),
            create_lease=self._noting("create lease"),
            delete_lease=self._noting("delete lease"),
        )

    def _noting(self, step: str) -> Callable[[str], Awaitable[None]]:
        async def act(sandbox_id: str) -> None:
            self.diary.note(step)

        return act


class _Namespaces:
    def __init__(self, all: FakeParts) -> None:
        self._all = all

    async def new(self, user_namespace: UserNamespace | None) -> str:
        self._all.diary.note("make namespace" if user_namespace is None else "make namespace in user namespace")
        path = f"/run/netns/{len(self._all.diary.entries)}"
        self._all.namespaces.add(path)
        return path

    async def remove(self, path: str) -> None:
        self._all.diary.note("remove namespace")
        if not self._all.namespaces_stick:
            self._all.namespaces.discard(path)

    async def is_closed(self, path: str) -> bool:
        return path not in self._all.namespaces


class _Networking:
    def __init__(self, all: FakeParts) -> None:
        self._all = all

    async def set_up(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> PodNetwork:
        self._all.diary.note("set up network", CniError)
        return PodNetwork("10.0.0.2", (), CNIResult({}))

    async def tear_down(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> None:
        self._all.diary.note("tear down network" if netns else "tear down network without a namespace", CniError)


class _Controller:
    def __init__(self, all: FakeParts) -> None:
        self._all = all

    async def create(self, sandbox: PodSandbox) -> None:
        self._all.diary.note("create sandbox")

    async def ensure_image(self, sandbox: PodSandbox) -> None:
        self._all.diary.note("ensure image")

    async def pin_user_namespace(self, sandbox: PodSandbox) -> None:
        self._all.diary.note("pin user namespace")

    async def start(self, sandbox: PodSandbox) -> None:
        try:
            self._all.diary.note("start sandbox")
        except RuntimeCallError as error:
            raise SandboxStartFailed(str(error), self._all.left_behind) from None

    async def stop(self, sandbox: PodSandbox) -> None:
        self._all.diary.note("stop sandbox")

    async def shut_down(self, sandbox: PodSandbox) -> None:
        self._all.diary.note("shut down sandbox")


class _Store:
    def __init__(self, all: FakeParts) -> None:
        self._all = all

    async def create(self, sandbox: PodSandbox) -> None:
        self._all.diary.note("store metadata")
        self._all.stored[sandbox.id] = sandbox

    async def update(self, sandbox: PodSandbox) -> None:
        self._all.diary.note("store again")

    async def delete(self, sandbox_id: str) -> None:
        self._all.diary.note("delete metadata")
        self._all.stored.pop(sandbox_id, None)

    def load(self) -> list[PodSandbox]:
        return list(self._all.stored.values())
