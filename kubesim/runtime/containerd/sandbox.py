"""Sandboxes as containerd's CRI plugin runs, stops and removes them.

The order is containerd's: reserve the name, store the metadata before anything exists, make the network namespace,
store, set up the network, store, start. With a user namespace of the pod, the network namespace is made within a new
one, and that one is pinned to a file before the sandbox starts and joins it. A failure is undone by the rules of
`sandbox_rules`; if that fails too, an UNKNOWN sandbox stays. Stopping and removing can be repeated. The parts that
touch a machine are protocols: the same code serves a simulated node and one with real namespaces and plugins.

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
    """RunPodSandbox failed; `kept` is the UNKNOWN sandbox that is left, if undoing failed, too."""

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
    """The argument of RunPodSandbox, as far as the order of actions depends on it."""

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
    """A sandbox: what is stored of it, and its state. `netns_path` is empty on the host's network."""

    request: SandboxRequest
    name: str
    state: State = "UNKNOWN"
    netns_path: str = ""
    network: PodNetwork | None = None

    @property
    def id(self) -> str:
        return self.request.id


class NetworkNamespaces(Protocol):
    """Makes and removes network namespaces that are bound to a path."""

    async def new(self, user_namespace: UserNamespace | None) -> str: ...
    async def remove(self, path: str) -> None: ...
    async def is_closed(self, path: str) -> bool: ...


class PodNetworking(Protocol):
    """Attaches sandboxes to networks: CNI, or a simulation of it."""

    async def set_up(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> PodNetwork: ...
    async def tear_down(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> None: ...


class SandboxController(Protocol):
    """The sandbox itself: the pause container. Stopping and shutting down what does not exist is no error."""

    async def create(self, sandbox: PodSandbox) -> None: ...
    async def ensure_image(self, sandbox: PodSandbox) -> None: ...
    async def pin_user_namespace(self, sandbox: PodSandbox) -> None:
        """Bind the user namespace that owns the network namespace to a file of the sandbox."""
        ...

    async def start(self, sandbox: PodSandbox) -> None: ...
    async def stop(self, sandbox: PodSandbox) -> None: ...
    async def shut_down(self, sandbox: PodSandbox) -> None: ...


class SandboxStore(Protocol):
    """Keeps sandboxes on disk: written before what they describe exists."""

    async def create(self, sandbox: PodSandbox) -> None: ...
    async def update(self, sandbox: PodSandbox) -> None: ...
    async def delete(self, sandbox_id: str) -> None: ...
    def load(self) -> list[PodSandbox]: ...


class SandboxObserver:
    """Sees the steps of RunPodSandbox. A step whose `at` raises RuntimeCallError fails with that error."""

    def at(self, sandbox: PodSandbox, step: StepName) -> None:
        """A step begins."""

    def undone(self, sandbox: PodSandbox, action: str) -> None:
        """Something that was created is removed again."""


async def _nothing(sandbox_id: str) -> None:
    pass


@mutable
class Parts:
    """What a service is made of. Leases keep a sandbox' images from being collected; the default keeps none."""

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
    """The sandboxes of a node. `sandboxes` are those that a listing shows; `order` is containerd 2's or 1.7's."""

    def __init__(self, parts: Parts, order: type[SandboxAttempt] | None = None) -> None:
        self._parts = parts
        self._order = order or SandboxAttempt
        self._names = NameIndex()
        self.sandboxes: dict[str, PodSandbox] = {}
        self._attempts: dict[str, PodSandbox] = {}
        self._lost: set[str] = set()  # stored, but unknown to every user

    def all(self) -> list[PodSandbox]:
        """Also those that are being created now."""
        return [*self.sandboxes.values(), *self._attempts.values()]

    def forget(self) -> None:
        """The memory of all sandboxes is lost; whatever they hold is still there."""
        self._lost.update(stored.id for stored in self._parts.store.load())
        self.sandboxes.clear()
        self._names = NameIndex()

    def recover(self, containers: Mapping[str, bool]) -> None:
        """After a restart: all stored objects exist. `containers` are the sandboxes that have a pause container, and
        whether it runs. One that has none is NOTREADY and its name is free, so the kubelet stops it and runs the next.

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
        """Undo as far as it goes; the sandbox that has to be kept."""
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
                dirty = dirty and action != "shut down sandbox"  # its outcome replaces what was known before
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
        """What does not exist is stopped."""
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
        """DEL also runs if the namespace is gone already, then with an empty path."""
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
        """Stops it first; fails while its namespace still exists."""
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
        """A sandbox whose namespace is gone has no addresses, whatever is stored."""
        if sandbox.network is None or await self._parts.namespaces.is_closed(sandbox.netns_path):
            return ()
        return (sandbox.network.ip, *sandbox.network.additional_ips)


async def wrap_error(action: Awaitable[T], what: str) -> T:
    """Do it; `what` is the prefix of its error."""
    try:
        return await action
    except KubesimError as error:
        raise RuntimeCallError(f"{what}: {error}") from error


class SandboxAttempt:
    """One RunPodSandbox on its way, in the order of containerd 2; `to_undo` is undone if it fails, last first."""

    every_tear_down_counts = False  # also that of a network that never came up
    container_comes_first = False  # before the network
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
        """A step begins; what the observer raises is its failure."""
        try:
            self._parts.observer.at(self.sandbox, name)
        except KubesimError as error:
            text = self.steps[name].own_error(str(error), self.sandbox.id, self.sandbox.name)
            raise RuntimeCallError(text) from error

    def undoes(self, action: Action) -> None:
        """Something is about to be undone. Raises RuntimeCallError if it cannot be."""

    async def _network(self, ctx: Context, unsaved: str) -> None:
        """`unsaved` stands before the error if the sandbox cannot be stored."""
        sandbox, parts, quoted_id = self.sandbox, self._parts, quoted(self.sandbox.id)
        self._at("netns")
        what = f"failed to create network namespace for sandbox {quoted_id}"
        sandbox.netns_path = await wrap_error(self._new_namespace(), what)
        self.to_undo.append("remove namespace")
        await wrap_error(parts.store.update(sandbox), unsaved)
        self.to_undo.append("tear down network")  # plugins may do something also when they say that they failed
        self._at("network")
        set_up = parts.networking.set_up(sandbox.id, sandbox.netns_path, self._request.network, ctx)
        sandbox.network = await wrap_error(set_up, f"failed to setup network for sandbox {quoted_id}")
        await wrap_error(parts.store.update(sandbox), unsaved)

    async def _new_namespace(self) -> str:
        """With a user namespace the network namespace belongs to it, so it has to be made from within."""
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
