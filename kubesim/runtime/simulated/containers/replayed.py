"""A container that replays a real one: same run time, exit code and readiness.

`RealContainers` records each attempt of each container from the statuses of real pods. `ReplayedProcess` is a simulated
container that follows them. While the real container runs, the simulated one runs too. The first simulated attempt
corresponds to the attempt of the real container when its pod was first seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from signal import SIGKILL
from typing import Literal

from kubesim.api.images import InvalidReference, apply_default_image_tag
from kubesim.api.pod import ContainerStateTerminated, ContainerStatus, Pod
from kubesim.api.timestamps import MILLISECOND, parse_time
from kubesim.clock import LoopClock
from kubesim.runtime.protocol import ExecResult
from kubesim.runtime.simulated.containers.container_process import Exit, ProcessContext
from kubesim.runtime.simulated.containers.termination_message import termination_message
from kubesim.runtime.simulated.network import listen_on
from kubesim.runtime.simulated.registries import not_found
from kubesim.runtime.simulated.settings import ImageBehaviour, Span
from kubesim.runtime.types import RuntimeResources
from kubesim.shell import Listener, Log, Ports
from kubesim.values import mutable, part, value_object

Key = tuple[str, str]  # pod UID, container name
_PULL_FAILURES = frozenset({"ErrImagePull", "ImagePullBackOff"})
_PULLED = ImageBehaviour()
_ON_THE_NODE = ImageBehaviour(pull=Span(20 * MILLISECOND))
STOPPED = 143  # the usual exit code after SIGTERM


@value_object
class RealEnd:
    """The end of one attempt of a real container."""

    ran_for: int  # microseconds
    exit_code: int
    oom_killed: bool = False
    message: str = ""


@mutable
class RealContainer:
    """The known state of one real container. Attempt numbers are its restartCount."""

    first: int  # the attempt when it was first seen
    attempt: int  # the current attempt
    running: bool = False
    ends: dict[int, RealEnd] = field(default_factory=dict)
    ready: set[int] = field(default_factory=set)  # attempts that were ready at any time
    started: set[int] = field(default_factory=set)
    is_ready: bool = False
    is_started: bool = False

    def end_of(self, ours: int) -> RealEnd | None:
        """The end of the corresponding attempt; None: it runs, or has not started. An attempt without an observed end
        ends like the next one with an observed end, otherwise like the previous one.
        """
        attempt = self.first + ours
        if attempt in self.ends:
            return self.ends[attempt]
        if attempt > self.attempt or (attempt == self.attempt and self.running):
            return None
        later = [number for number in self.ends if number > attempt]
        if later:
            return self.ends[min(later)]
        return self.ends[max(self.ends)] if self.ends and attempt < self.attempt else None

    def answer(self, ours: int, *, ready: bool) -> Literal["success", "failure", "wait"]:
        """The simulated result of a readiness or startup probe: failure only for a container that was ready and no
        longer is; before it was ready, unknown.
        """
        attempt = self.first + ours
        once = attempt in (self.ready if ready else self.started)
        if attempt == self.attempt and self.running and not (self.is_ready if ready else self.is_started):
            return "failure" if once and ready else "wait"
        return "success" if once else "wait"


def learn(known: RealContainer | None, status: ContainerStatus) -> RealContainer:
    """Update `known` from a status. Otherwise pure."""
    state, last = status.state, status.last_state.terminated
    attempt = status.restart_count
    lesson = known or RealContainer(attempt, attempt)
    lesson.attempt, lesson.running = attempt, state.running is not None
    lesson.is_ready, lesson.is_started = status.ready, bool(status.started)
    if state.terminated is not None:
        lesson.ends[attempt] = _end(state.terminated)
    elif last is not None:
        # A container that waits for its restart still has the restart count of the previous attempt.
        lesson.ends[attempt if state.running is None else attempt - 1] = _end(last)
    if lesson.running and status.ready:
        lesson.ready.add(attempt)
    if lesson.running and status.started:
        lesson.started.add(attempt)
    return lesson


def _end(state: ContainerStateTerminated) -> RealEnd:
    ran_for = 0
    if state.started_at and state.finished_at:
        ran_for = max(0, parse_time(state.finished_at) - parse_time(state.started_at))
    return RealEnd(ran_for, state.exit_code, state.reason == "OOMKilled", state.message)


class RealContainers:
    """All real containers of a node."""

    def __init__(self) -> None:
        self._containers: dict[Key, RealContainer] = {}
        self._followers: dict[Key, Callable[[], None]] = {}
        self._pulled: dict[Key, str] = {}  # images on the node, by the kubelet's reference
        self._unpulled: dict[Key, str] = {}  # images that cannot be pulled

    def see(self, pod: Pod) -> None:
        """A real pod was added or updated."""
        spec = pod.spec
        containers = (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
        images = {container.name: _with_tag(container.image) for container in containers}
        for status in _statuses(pod):
            key = (pod.metadata.uid, status.name)
            self._containers[key] = learn(self._containers.get(key), status)
            if status.image_id:
                self._pulled[key] = images.get(status.name, "")
            waiting = status.state.waiting
            if waiting is not None and waiting.reason in _PULL_FAILURES:
                self._unpulled[key] = images.get(status.name, "")
            else:
                self._unpulled.pop(key, None)
            if key in self._followers:
                self._followers[key]()

    def forget(self, uid: str) -> None:
        """The real pod was deleted."""
        for key in [key for key in self._containers if key[0] == uid]:
            del self._containers[key]
            self._unpulled.pop(key, None)
            self._pulled.pop(key, None)
        for key, follower in [*self._followers.items()]:
            if key[0] == uid:
                follower()

    def of(self, uid: str, container: str) -> RealContainer | None:
        return self._containers.get((uid, container))

    def cannot_pull(self, image: str) -> bool:
        """Whether pulling the image fails on the real node."""
        return image in self._unpulled.values()

    def has_image(self, image: str) -> bool:
        """Whether a container of the real node uses the image."""
        return image in self._pulled.values()

    def follow(self, key: Key, changed: Callable[[], None]) -> None:
        """Call back after each update; the newest container of a name replaces the callback."""
        self._followers[key] = changed

    def leave(self, key: Key, changed: Callable[[], None]) -> None:
        if self._followers.get(key) == changed:
            del self._followers[key]


class RealImages(Mapping[str, ImageBehaviour]):
    """Pull results by image: those of the scenario, otherwise the real node's."""

    def __init__(self, given: Mapping[str, ImageBehaviour], real: RealContainers) -> None:
        self._given = given
        self._real = real

    def __getitem__(self, image: str) -> ImageBehaviour:
        if self._real.cannot_pull(image):
            return ImageBehaviour(missing=not_found(image))
        return self._given.get(image) or (_ON_THE_NODE if self._real.has_image(image) else _PULLED)

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def _with_tag(image: str) -> str:
    try:
        return apply_default_image_tag(image)
    except InvalidReference:
        return image


def _statuses(pod: Pod) -> Iterator[ContainerStatus]:
    status = pod.status
    yield from status.init_container_statuses
    yield from status.container_statuses
    yield from status.ephemeral_container_statuses


@part
class ReplayedProcess:
    """A container that replays a real one; implements `ContainerProcess`. It listens on its ports while it runs."""

    clock: LoopClock
    lessons: RealContainers
    context: ProcessContext
    ports: Ports
    log: Log = field(init=False)
    _on_exit: Callable[[Exit], None] = field(init=False)
    _began: int = 0
    _ended: bool = False
    _stopping: bool = False
    _listeners: list[Listener] = field(default_factory=list)
    _timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.log = Log(self.clock.now)

    @property
    def _key(self) -> Key:
        return self.context.pod.metadata.uid, self.context.container.name

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        self._on_exit, self._began = on_exit, self.clock.now()
        self._listeners = listen_on(self.ports, self.context.container)
        self.lessons.follow(self._key, self._follow)
        self._follow()

    def _follow(self) -> None:
        """Schedule the end, if known."""
        lesson = self.lessons.of(*self._key)
        end = None if lesson is None else lesson.end_of(self.context.config.attempt)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if end is not None:
            due = self.clock.now() if self._stopping else max(self.clock.now(), self._began + end.ran_for)
            self._timer = self.clock.call_at(due, self._end, end)
        elif self._stopping and lesson is None:
            self._end(RealEnd(0, STOPPED))

    def _end(self, end: RealEnd) -> None:
        if self._ended:
            return
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        self.lessons.leave(self._key, self._follow)
        for listener in self._listeners:
            self.ports.close(listener)
        message = termination_message(self.context.container, end.message, end.exit_code, self.log)
        self._on_exit(Exit(end.exit_code, oom_killed=end.oom_killed, message=message))

    def signal(self, number: int) -> None:
        """SIGTERM ends it with the real container's exit code, when that has ended."""
        if number == SIGKILL:
            self._end(RealEnd(0, 128 + SIGKILL))
        else:
            self._stopping = True
            self._follow()

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        return ExecResult(0)

    def resources_updated(self, resources: RuntimeResources) -> None:
        """Resources have no effect."""

    def output(self) -> str:
        return self.log.text()
