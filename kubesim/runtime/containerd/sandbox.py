"""The sandbox service of containerd's CRI plugin: run, stop and remove sandboxes.

The order is containerd's: reserve the name, store the metadata before any resource exists, create the network
namespace, store, set up the network, store, start. With a pod user namespace, the network namespace is created within
it, and it is pinned to a file before the sandbox starts and joins it. A failure is undone by the rules of
`sandbox_rules`; if that fails too, an UNKNOWN sandbox stays. Stop and remove are idempotent. Access to the machine is
behind protocols: the same code serves a simulated node and one with real namespaces and plugins.

Mirrors: containerd internal/cri/server/sandbox_run.go, sandbox_stop.go, sandbox_remove.go
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Literal, Protocol, TypeVar

from kubesim.cni.exec.context import BACKGROUND, Context, with_timeout
from kubesim.cni.pod_config import PodNetworkConfig
from kubesim.cni.pod_network import PodNetwork
from kubesim.errors import KubesimError, RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.containerd.sandbox_rules import (
    Action,
    NameIndex,
    is_due,
    make_sandbox_name,
    makes_dirty,
    user_namespace_problem,
)
from kubesim.runtime.protocol import UserNamespace
from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME, SandboxStep, StepName
from kubesim.values import mutable, replace, value_object

CLEAN_UP_TIMEOUT_S = 60.0  # io.containerd.timeout.cri.defercleanup
State = Literal["UNKNOWN", "READY", "NOTREADY"]
T = TypeVar("T")


class SandboxFailed(RuntimeCallError):
    """RunPodSandbox failed; `kept` is the UNKNOWN sandbox that remains if undoing failed too."""

    def __init__(self, text: str, kept: PodSandbox | None = None) -> None:
        self.kept = kept
        super().__init__(text)


class SandboxStartFailed(RuntimeCallError):
    """The sandbox process did not start. `left_behind` names the parts that could not be removed."""

    def __init__(self, text: str, left_behind: str = "") -> None:
        self.left_behind = left_behind
        super().__init__(text)


@value_object
class SandboxRequest:
    """The fields of a RunPodSandbox request that affect the order of actions."""

    id: str
    name: str
    namespace: str
    uid: str
    attempt: int
    network: PodNetworkConfig
    host_network: bool = False
    user_namespace: UserNamespace | None = None


@mutable
class PodSandbox:
    """A sandbox: its stored data and its state. `netns_path` is empty for host network."""

    request: SandboxRequest
    name: str
    state: State = "UNKNOWN"
    netns_path: str = ""
    network: PodNetwork | None = None

    @property
    def id(self) -> str:
        return self.request.id


class NetworkNamespaces(Protocol):
    """Creates and removes network namespaces that are bound to a path."""

    async def new(self, user_namespace: UserNamespace | None) -> str: ...
    async def remove(self, path: str) -> None: ...
    async def is_closed(self, path: str) -> bool: ...


class PodNetworking(Protocol):
    """Attaches sandboxes to networks: with CNI, or simulated."""

    async def set_up(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> PodNetwork: ...
    async def tear_down(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> None: ...


class SandboxController(Protocol):
    """The sandbox container (pause). Stopping or shutting down a missing one is not an error."""

    async def create(self, sandbox: PodSandbox) -> None: ...
    async def ensure_image(self, sandbox: PodSandbox) -> None: ...
    async def pin_user_namespace(self, sandbox: PodSandbox) -> None:
        """Bind the user namespace that owns the network namespace to a file of the sandbox."""
        ...

    async def start(self, sandbox: PodSandbox) -> None: ...
    async def stop(self, sandbox: PodSandbox) -> None: ...
    async def shut_down(self, sandbox: PodSandbox) -> None: ...


class SandboxStore(Protocol):
    """Stores sandboxes on disk, each before the resources it describes exist."""

    async def create(self, sandbox: PodSandbox) -> None: ...
    async def update(self, sandbox: PodSandbox) -> None: ...
    async def delete(self, sandbox_id: str) -> None: ...
    def load(self) -> list[PodSandbox]: ...


class SandboxObserver:
    """Observes the steps of RunPodSandbox. If `at` raises RuntimeCallError, the step fails with that error."""

    def at(self, sandbox: PodSandbox, step: StepName) -> None:
        """A step starts."""

    def undone(self, sandbox: PodSandbox, action: str) -> None:
        """A created resource was removed again."""


async def _nothing(sandbox_id: str) -> None:
    pass


@mutable
class Parts:
    """Dependencies of a sandbox service. Leases protect sandbox images from garbage collection (default: none)."""

    namespaces: NetworkNamespaces
    networking: PodNetworking
    controller: SandboxController
    store: SandboxStore
    stop_containers: Callable[[str], Awaitable[None]] = field(default=_nothing)
    remove_containers: Callable[[str], Awaitable[None]] = field(default=_nothing)
    create_lease: Callable[[str], Awaitable[None]] = field(default=_nothing)
    delete_lease: Callable[[str], Awaitable[None]] = field(default=_nothing)
    observer: SandboxObserver = field(default_factory=SandboxObserver)


class PodSandboxService:
    """The sandboxes of a node. `sandboxes` are those in a listing; `order` is that of containerd 2 or 1.7."""

    def __init__(self, parts: Parts, order: type[SandboxAttempt] | None = None) -> None:
        self._parts = parts
        self._order = order or SandboxAttempt
        self._names = NameIndex()
        self.sandboxes: dict[str, PodSandbox] = {}
        self._attempts: dict[str, PodSandbox] = {}
        self._lost: set[str] = set()  # stored, but missing in listings

    def all(self) -> list[PodSandbox]:
        """All sandboxes, including those being created."""
        return [*self.sandboxes.values(), *self._attempts.values()]

    def forget(self) -> None:
        """Drop all sandboxes from memory; their resources remain."""
        self._lost.update(stored.id for stored in self._parts.store.load())
        self.sandboxes.clear()
        self._names = NameIndex()

    def recover(self, containers: Mapping[str, bool]) -> None:
        """Restore after a restart from the store. `containers` are the sandboxes with a pause container, and whether it
        runs. A sandbox without one is NOTREADY and its name is free: the kubelet stops it and runs the next one.

        Mirrors: containerd internal/cri/server/restart.go recover, podsandbox/recover.go RecoverContainer
        """
        known, self.sandboxes, self._names = self.sandboxes, {}, NameIndex()
        for stored in self._parts.store.load():
            if stored.id in self._lost:
                continue
            if stored.id in containers or self._order.container_comes_first:
                self._names.reserve(stored.name, stored.id)
            state: State = "READY" if containers.get(stored.id) else "NOTREADY"
            self.sandboxes[stored.id] = replace(known.get(stored.id, stored), state=state)

    # -- run ----------------------------------------------------------------------------------------------------

    async def run(self, request: SandboxRequest, ctx: Context = BACKGROUND) -> PodSandbox:
        attempt = self._order(self._parts, request)
        self._attempts[request.id] = attempt.sandbox
        try:
            await attempt.run(self._names, ctx)
        except KubesimError as error:
            kept = await self._undo(attempt)
            raise SandboxFailed(str(error), kept) from error
        finally:
            del self._attempts[request.id]
        self.sandboxes[request.id] = attempt.sandbox
        return attempt.sandbox

    async def _undo(self, attempt: SandboxAttempt) -> PodSandbox | None:
        """Undo as far as possible; returns a sandbox that must be kept."""
        dirty = bool(attempt.left_behind)
        kept: PodSandbox | None = None
        for action in reversed(attempt.to_undo):
            if not is_due(action, dirty):
                continue
            if action == "keep as unknown":
                kept = self.sandboxes[attempt.sandbox.id] = attempt.sandbox
                continue
            try:
                self._parts.observer.undone(attempt.sandbox, action)
                attempt.undoes(action)
                await self._act(action, attempt.sandbox)
                dirty = dirty and action != "shut down sandbox"  # its outcome replaces the earlier state
            except KubesimError:
                has_network = attempt.every_tear_down_counts or attempt.sandbox.network is not None
                dirty = dirty or makes_dirty(action, has_network=has_network)
        return kept

    async def _act(self, action: Action, sandbox: PodSandbox) -> None:
        parts, request = self._parts, sandbox.request
        match action:
            case "shut down sandbox" | "delete task":
                await parts.controller.shut_down(sandbox)
            case "tear down network":
                with with_timeout(CLEAN_UP_TIMEOUT_S) as ctx:
                    await parts.networking.tear_down(sandbox.id, sandbox.netns_path, request.network, ctx)
            case "remove namespace":
                await parts.namespaces.remove(sandbox.netns_path)
                sandbox.netns_path = ""
            case "delete metadata":
                await parts.store.delete(sandbox.id)
            case "delete lease":
                await parts.delete_lease(sandbox.id)
            case "release name":
                self._names.release(sandbox.id)

    # -- stop and remove ----------------------------------------------------------------------------------------

    async def stop(self, sandbox_id: str, ctx: Context = BACKGROUND) -> None:
        """Stop a sandbox; a missing one counts as stopped."""
        sandbox = self.sandboxes.get(sandbox_id)
        if sandbox is not None:
            await self._stop(sandbox, ctx)

    async def _stop(self, sandbox: PodSandbox, ctx: Context) -> None:
        await self._parts.stop_containers(sandbox.id)
        if sandbox.state in ("READY", "UNKNOWN"):
            try:
                await self._parts.controller.stop(sandbox)
            except KubesimError as error:
                raise RuntimeCallError(f"failed to stop sandbox {quoted(sandbox.id)}: {error}") from error
            sandbox.state = "NOTREADY"
        if sandbox.netns_path:
            await self._tear_down(sandbox, ctx)

    async def _tear_down(self, sandbox: PodSandbox, ctx: Context) -> None:
        """Tear down the network. DEL runs even if the namespace is gone, with an empty path."""
        namespaces, path = self._parts.namespaces, sandbox.netns_path
        try:
            closed = await namespaces.is_closed(path)
        except KubesimError as error:
            raise RuntimeCallError(f"failed to check network namespace closed: {error}") from error
        try:
            netns = "" if closed else path
            await self._parts.networking.tear_down(sandbox.id, netns, sandbox.request.network, ctx)
        except KubesimError as error:
            if sandbox.network is not None:
                raise RuntimeCallError(
                    f"failed to destroy network for sandbox {quoted(sandbox.id)}: {error}"
                ) from error
        try:
            await namespaces.remove(path)
        except KubesimError as error:
            problem = f"failed to remove network namespace for sandbox {quoted(sandbox.id)}: {error}"
            raise RuntimeCallError(problem) from error

    async def remove(self, sandbox_id: str, ctx: Context = BACKGROUND) -> None:
        """Remove a sandbox: stop it first. Fails while its namespace exists."""
        sandbox = self.sandboxes.get(sandbox_id)
        if sandbox is None:
            return
        quoted_id = quoted(sandbox_id)
        await wrap_error(self._stop(sandbox, ctx), f"failed to forcibly stop sandbox {quoted_id}")
        await wrap_error(self._parts.delete_lease(sandbox_id), f"failed to delete lease for sandbox {quoted_id}")
        if sandbox.netns_path and not await self._parts.namespaces.is_closed(sandbox.netns_path):
            raise RuntimeCallError(f"sandbox network namespace {quoted(sandbox.netns_path)} is not fully closed")
        await self._parts.remove_containers(sandbox_id)
        await wrap_error(self._parts.controller.shut_down(sandbox), f"failed to delete sandbox {quoted_id}")
        self.sandboxes.pop(sandbox_id, None)
        await wrap_error(self._parts.store.delete(sandbox_id), "failed to remove sandbox metadata from store")
        self._names.release(sandbox_id)

    async def ips(self, sandbox: PodSandbox) -> tuple[str, ...]:
        """The addresses; empty if the sandbox's namespace is gone, whatever is stored."""
        if sandbox.network is None or await self._parts.namespaces.is_closed(sandbox.netns_path):
            return ()
        return (sandbox.network.ip, *sandbox.network.additional_ips)


async def wrap_error(action: Awaitable[T], what: str) -> T:
    """Await an action; errors get the prefix `what`."""
    try:
        return await action
    except KubesimError as error:
        raise RuntimeCallError(f"{what}: {error}") from error


class SandboxAttempt:
    """One RunPodSandbox in the order of containerd 2. If it fails, `to_undo` is undone in reverse order."""

    every_tear_down_counts = False  # count tear-down errors even if the network never came up
    container_comes_first = False  # create the pause container before the network
    steps: Mapping[StepName, SandboxStep] = BY_NAME

    def __init__(self, parts: Parts, request: SandboxRequest) -> None:
        self._parts = parts
        self._request = request
        name = make_sandbox_name(request.name, request.namespace, request.uid, request.attempt)
        self.sandbox = PodSandbox(request, name)
        self.to_undo: list[Action] = []
        self.left_behind = ""

    async def run(self, names: NameIndex, ctx: Context) -> None:
        sandbox, parts = self.sandbox, self._parts
        self._reserve_name(names)
        self._at("lease")
        await wrap_error(
            parts.create_lease(sandbox.id), f"failed to create lease for sandbox name {quoted(sandbox.name)}"
        )
        self.to_undo.append("delete lease")
        self._at("runtime")
        self._at("metadata")
        await wrap_error(parts.store.create(sandbox), "failed to save sandbox metadata")
        self.to_undo += ["delete metadata", "keep as unknown"]
        if not self._request.host_network:
            await self._network(ctx, f"unable to save sandbox {quoted(sandbox.id)} to sandbox store")
        await self._start()
        self._at("store")
        await wrap_error(parts.store.update(sandbox), f"unable to save sandbox {quoted(sandbox.id)} to sandbox store")
        self._at("nri")
        sandbox.state = "READY"

    def _reserve_name(self, names: NameIndex) -> None:
        self._at("name")
        problem = names.reserve(self.sandbox.name, self.sandbox.id)
        if problem:
            raise RuntimeCallError(f"failed to reserve sandbox name {quoted(self.sandbox.name)}: {problem}")
        self.to_undo.append("release name")

    def _at(self, name: StepName) -> None:
        """Start a step; an error of the observer fails the step."""
        try:
            self._parts.observer.at(self.sandbox, name)
        except KubesimError as error:
            text = self.steps[name].own_error(str(error), self.sandbox.id, self.sandbox.name)
            raise RuntimeCallError(text) from error

    def undoes(self, action: Action) -> None:
        """Start to undo an action. Raises RuntimeCallError if it cannot be undone."""

    async def _network(self, ctx: Context, unsaved: str) -> None:
        """Set up the network. `unsaved` is the error prefix if the sandbox cannot be stored."""
        sandbox, parts, quoted_id = self.sandbox, self._parts, quoted(self.sandbox.id)
        self._at("netns")
        what = f"failed to create network namespace for sandbox {quoted_id}"
        sandbox.netns_path = await wrap_error(self._new_namespace(), what)
        self.to_undo.append("remove namespace")
        await wrap_error(parts.store.update(sandbox), unsaved)
        self.to_undo.append("tear down network")  # plugins may leave resources even if they fail
        self._at("network")
        set_up = parts.networking.set_up(sandbox.id, sandbox.netns_path, self._request.network, ctx)
        sandbox.network = await wrap_error(set_up, f"failed to setup network for sandbox {quoted_id}")
        await wrap_error(parts.store.update(sandbox), unsaved)

    async def _new_namespace(self) -> str:
        """With a user namespace, the network namespace must be created within it to be owned by it."""
        user_namespace = self._request.user_namespace
        if user_namespace is not None:
            problem = user_namespace_problem(user_namespace)
            if problem:
                raise RuntimeCallError(problem)
        return await self._parts.namespaces.new(user_namespace)

    async def _start(self) -> None:
        sandbox, controller, quoted_id = self.sandbox, self._parts.controller, quoted(self.sandbox.id)
        self._at("create")
        await wrap_error(controller.create(sandbox), f"failed to create sandbox {quoted_id}")
        self._at("pauseImage")
        await controller.ensure_image(sandbox)
        try:
            if self._request.user_namespace is not None and not self._request.host_network:
                what = "failed to generate sandbox container spec: failed to pin user namespace"
                await wrap_error(controller.pin_user_namespace(sandbox), what)
            await controller.start(sandbox)
        except SandboxStartFailed as error:
            self.left_behind = error.left_behind
            raise RuntimeCallError(f"failed to start sandbox {quoted_id}: {error}") from error
        except KubesimError as error:
            raise RuntimeCallError(f"failed to start sandbox {quoted_id}: {error}") from error
        self.to_undo.append("shut down sandbox")
