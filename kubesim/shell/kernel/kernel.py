"""Processes and signals of one container: a small operating system in virtual time.

A process is a coroutine driven by the kernel. It runs until it waits; a timer, a child or a pipe resumes it. As there
are no asyncio tasks, an exec probe completes within its call, and killing a container closes its coroutines
immediately. A process without a coroutine exists until a signal or its single timer ends it: servers and sleeping
processes are cheap.

It follows Linux rules that affect pods: PID 1 of a container ignores signals without a handler (even KILL from inside),
and its end ends all processes.
"""

from __future__ import annotations

import types
from asyncio import TimerHandle
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import Any, TypeVar

from kubesim.clock import LoopClock, Randomness, go
from kubesim.clock.randomness import Stream as RandomStream
from kubesim.shell.kernel.files import VirtualFiles
from kubesim.shell.kernel.ports import Listener, LoopbackNetwork, ShellNetwork, is_address
from kubesim.shell.kernel.signals import (
    HARMLESS,
    KILL,
    NO_HANDLERS,
    PIPE,
    STOP,
    Disposition,
    Dispositions,
    inherited,
)
from kubesim.shell.kernel.streams import BrokenPipe, Log, LogTarget, Stream
from kubesim.shell.kernel.terminal import PipedInput, Terminal
from kubesim.shell.kernel.users import EVERYTHING, ROOT, Permissions, User
from kubesim.shell.limits import (
    CHARACTERS_PER_STEP,
    LARGEST_MEMORY,
    LEAST_STEPS_PER_INSTANT,
    LONG_TEXT,
    MEMORY_LIMIT,
    PAUSES_BEFORE_CPU_BOUND,
    PROCESS_LIMIT,
    STEPS_OF_A_FORK,
    STEPS_PER_INSTANT,
    STEPS_PER_TURN,
    pause_length,
    turn_when_cpu_bound,
)
from kubesim.values import part, value_object

T = TypeVar("T")


@value_object
class ExitStatus:
    """How a process ended: its exit code as the runtime reports it, and the signal, if any."""

    code: int
    signal: int = 0
    oom_killed: bool = False


KILLED = ExitStatus(128 + KILL, KILL)


class Terminated(Exception):
    """Raised in a process that exits, to unwind it."""


class CannotFork(Exception):
    """The limit of processes is reached."""


@types.coroutine
def suspend() -> Generator[None, None, None]:
    """Yield to the kernel until this process is woken."""
    yield


@part
class Process:
    """A simulated process. `strict`: it belongs to an exec, in which unknown programs do not exist."""

    kernel: Kernel
    pid: int
    argv: list[str]
    environment: Mapping[str, str]
    directory: str
    dispositions: Dispositions = field(default_factory=lambda: NO_HANDLERS)
    streams: dict[int, Stream] | None = None
    parent: Process | None = None
    coroutine: Coroutine[Any, Any, int] | None = None
    pending: list[int] = field(default_factory=list)  # caught signals, not handled yet
    listeners: list[Listener] = field(default_factory=list)
    waiters: list[Process] = field(default_factory=list)
    status: ExitStatus | None = None
    on_exit: Callable[[ExitStatus], None] | None = None
    timer: TimerHandle | None = None
    strict: bool = False
    user: str = "root"
    queued: bool = False
    held: int = 0  # bytes
    _spent: int = 0
    _spent_at: int = -1
    _pauses: int = 0

    # Time.

    async def sleep(self, duration: int, *, interruptible: bool = False) -> None:
        """Sleep for this duration. If interruptible, a caught signal ends the sleep."""
        clock = self.kernel.clock
        due = clock.now() + duration
        timer = clock.call_at(due, self.kernel.wake, self)
        try:
            while not (interruptible and self.pending):
                await suspend()
                if clock.now() >= due:
                    break
        finally:
            timer.cancel()

    async def yield_turn(self) -> None:
        """Yield to other processes, without time passing."""
        self.wake()
        await suspend()

    async def sleep_forever(self) -> int:
        while True:
            await suspend()

    def spend(self, steps: int = 1) -> bool:
        """Count work; returns whether the process should pause."""
        kernel = self.kernel
        now = kernel.clock.now()
        if now != self._spent_at:
            self._spent_at, self._spent, self._pauses = now, 0, 0
        if now != kernel.spent_at:
            kernel.begin_instant(now)
        self._spent += steps
        kernel.spent += steps
        turn = STEPS_PER_TURN if self._pauses < PAUSES_BEFORE_CPU_BOUND else kernel.cpu_bound_steps()
        return self._spent > turn or kernel.spent > kernel.steps_per_instant

    def spend_on(self, text: str) -> None:
        """Count the work of scanning a text, if it is long."""
        if len(text) > LONG_TEXT:
            self.spend(len(text) // CHARACTERS_PER_STEP)

    async def pause(self) -> None:
        """Let time pass for a process that never waits."""
        self._pauses += 1
        doublings = max(0, self._pauses - PAUSES_BEFORE_CPU_BOUND)
        if doublings:
            self.kernel.cpu_bound(self)
        await self.sleep(pause_length(doublings), interruptible=True)
        self._spent_at, self._spent = self.kernel.clock.now(), 0

    def _continue_work_of(self, other: Process) -> None:
        """Count the child's work as this process's: many short children are not cheaper than one long process."""
        self._spent_at, self._spent, self._pauses = other._spent_at, other._spent, other._pauses

    # Memory.

    def hold(self, size: int) -> None:
        """Allocate (or free) this many bytes for this process. Exceeding the limit ends the container."""
        size = max(size, -self.held)  # a subshell may free memory of its parent
        self.held += size
        self.kernel.held += size
        self.kernel.claim_memory(0)

    # Streams.

    def stream(self, descriptor: int) -> Stream:
        stream = (self.streams or {}).get(descriptor)
        return self.kernel.null if stream is None else stream

    async def read(self, stream: Stream) -> str:
        """Read some text; empty at the end."""
        if self.spend():
            await self.pause()
        while (text := stream.poll_read()) is None:
            stream.watch(self.wake)
            await suspend()
        if len(text) > LONG_TEXT:
            self.spend(len(text) // LONG_TEXT)
        return text

    async def read_line(self, stream: Stream) -> str:
        """Read a line with its newline; empty at the end."""
        held: list[str] = []
        size = 0
        try:
            while text := await self.read(stream):
                line, newline, behind = text.partition("\n")
                if newline:
                    if behind:
                        stream.push_back(behind)
                    return "".join((*held, line, newline))
                size += len(text)
                self.hold(len(text))
                held.append(text)
            return "".join(held)
        finally:
            if size and self.status is None:
                self.hold(-size)

    async def read_all(self, stream: Stream) -> str:
        held: list[str] = []
        while text := await self.read(stream):
            self.hold(len(text))
            held.append(text)
        return "".join(held)

    async def await_real(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a real operation, which runs as a task of the event loop."""
        task = go(work, f"{self.argv[0]} outside")
        task.add_done_callback(lambda _: self.wake())
        try:
            while not task.done():
                await suspend()
        finally:
            task.cancel()
        return task.result()

    async def write(self, text: str, descriptor: int = 1) -> None:
        """Write the whole text. As in Linux, a pipe without readers ends the writer."""
        stream = self.stream(descriptor)
        if len(text) > 1024 and isinstance(stream, LogTarget):  # work proportional to the memory
            self.spend(len(text) >> 6)
        try:
            while not stream.poll_write(text):
                stream.watch(self.wake)
                await suspend()
        except BrokenPipe:
            self.kernel.deliver(self, PIPE)
            self.check_alive()

    async def complain(self, text: str) -> int:
        """Print an error to stderr; returns the usual exit code."""
        await self.write(text + "\n", 2)
        return 1

    # Other processes.

    def wake(self) -> None:
        self.kernel.wake(self)

    def check_alive(self) -> None:
        if self.status is not None:
            raise Terminated

    def fork(self, argv: list[str], environment: Mapping[str, str] | None = None) -> Process:
        """Create a child that inherits copies; it does not run yet."""
        self.spend(STEPS_OF_A_FORK)
        kernel = self.kernel
        child = kernel.new_process(argv, self.environment if environment is None else environment, self.directory)
        child.parent = self
        child._continue_work_of(self)
        child.strict = self.strict
        child.streams = {descriptor: stream.hold() for descriptor, stream in (self.streams or {}).items()}
        child.dispositions = inherited(self.dispositions)
        return child

    async def wait_for(self, child: Process) -> ExitStatus:
        """Wait until a child ends, even if signals are caught."""
        if child.status is None:
            child.waiters.append(self)
            while child.status is None:
                await suspend()
        if child._spent_at == self.kernel.clock.now():
            self._continue_work_of(child)
        return child.status

    def listen(self, listener: Listener) -> Listener:
        """Open a port, which closes when this process ends."""
        self.kernel.network.ports.listen(listener)
        self.listeners.append(listener)
        return listener


NULL = Stream().hold()


@part
class Kernel:
    """The processes of one container, and their shared resources.

    Containers of a pod share `network`; `files` is the container's own, with shared volumes mounted. `pids` is a shared
    PID namespace: only a container that gets PID 1 is protected from signals. `neighbours` are then the processes of
    all its containers. `note` is called with assumptions of the simulation (an unknown program is a server).
    """

    clock: LoopClock
    files: VirtualFiles = field(default_factory=VirtualFiles)
    network: ShellNetwork = field(default_factory=LoopbackNetwork)
    memory_limit: int | None = None
    stdin_open: bool = False
    has_terminal: bool = False
    input: PipedInput | Terminal | None = None
    pids: Iterator[int] = field(default_factory=lambda: count(1))
    randomness: Randomness = Randomness(0)
    note: Callable[[str], None] = lambda text: None
    user: User = ROOT
    permissions: Permissions = EVERYTHING
    log: Log = field(init=False)
    null: Stream = NULL
    processes: dict[int, Process] = field(default_factory=dict)
    neighbours: dict[int, Process] | None = None  # None: not shared
    init: Process | None = None
    current: Process | None = None  # the running process
    spent: int = 0  # steps of all processes at one instant
    spent_at: int = -1  # that instant
    steps_per_instant: int = STEPS_PER_INSTANT
    held: int = 0  # bytes held by all processes
    _cpu_bound_turns: int = 0
    _ready: list[Process] = field(default_factory=list)
    _draining: bool = False
    _random: RandomStream | None = None

    def __post_init__(self) -> None:
        self.log = Log(self.clock.now)

    # Processes.

    def new_process(self, argv: list[str], environment: Mapping[str, str], directory: str) -> Process:
        if len(self.processes) >= PROCESS_LIMIT:
            raise CannotFork
        process = Process(self, next(self.pids), argv, environment, directory)
        self.processes[process.pid] = process
        if self.neighbours is not None:
            self.neighbours[process.pid] = process
        if self.init is None:
            self.init = process
        return process

    def visible(self) -> dict[int, Process]:
        """The processes in the PID namespace, by pid."""
        return self.processes if self.neighbours is None else self.neighbours

    def share(self) -> dict[int, Process]:
        """Share the PID namespace with another container, whose kernel gets `pids`."""
        if self.neighbours is None:
            self.neighbours = dict(self.processes)
        return self.neighbours

    def run(self, process: Process, coroutine: Coroutine[Any, Any, int]) -> None:
        """Run a coroutine in this process; its result is the exit code."""
        process.coroutine = coroutine
        self.wake(process)

    def wake(self, process: Process) -> None:
        """Resume a process once no other runs."""
        if process.status is not None or process.queued or process.coroutine is None:
            return
        process.queued = True
        self._ready.append(process)
        if not self._draining:
            self._drain()

    def _drain(self) -> None:
        self._draining = True
        try:
            while self._ready:
                process = self._ready.pop(0)
                process.queued = False
                if process.status is None:
                    self._advance(process)
        finally:
            self._draining = False

    def _advance(self, process: Process) -> None:
        coroutine = process.coroutine
        assert coroutine is not None
        self.current = process
        status: ExitStatus | None = None
        try:
            coroutine.send(None)
        except StopIteration as returned:
            status = ExitStatus(returned.value & 0xFF)
        except Terminated:
            pass
        except BaseException:  # a bug in kubesim: the process must not remain half alive
            self.current = None
            self.finish(process, ExitStatus(255))
            raise
        self.current = None
        if process.status is not None:
            coroutine.close()
        elif status is not None:
            process.coroutine = None
            self.finish(process, status)

    def finish(self, process: Process, status: ExitStatus) -> None:
        """End a process: release its resources and wake its waiters."""
        if process.status is not None:
            return
        process.status = status
        self.held -= process.held
        self.processes.pop(process.pid, None)
        if self.neighbours is not None:
            self.neighbours.pop(process.pid, None)
        coroutine, process.coroutine = process.coroutine, None
        if coroutine is not None and process is not self.current:
            coroutine.close()
        if process.timer is not None:
            process.timer.cancel()
            process.timer = None
        for listener in process.listeners:
            self.network.ports.close(listener)
        streams, process.streams = process.streams, None
        if process is self.init:
            self._end()
        for stream in (streams or {}).values():
            stream.release()
        for waiter in process.waiters:
            self.wake(waiter)
        process.waiters.clear()
        if process.on_exit is not None:
            process.on_exit(status)

    def _end(self) -> None:
        """PID 1 has ended: end all processes of the container."""
        for process in list(self.processes.values()):
            self.finish(process, KILLED)
        if self.neighbours is not None and self.init is not None and self.init.pid == 1:
            for process in list(self.neighbours.values()):
                process.kernel.finish(process, KILLED)
        self.log.flush()

    # Signals and memory.

    def deliver(self, process: Process, number: int, *, outside: bool = False) -> None:
        """Deliver a signal. `outside`: sent by the runtime, not by a process of the container."""
        if process.status is not None or number == 0:
            return
        protected = process.pid == 1
        if number in (KILL, STOP):
            if number == KILL and (outside or not protected):
                self.finish(process, KILLED)
            return
        action = process.dispositions.get(number)
        if action is None:
            if not protected and number not in HARMLESS:
                self.finish(process, ExitStatus(128 + number, number))
        elif action is Disposition.CATCH:
            if number not in process.pending:
                process.pending.append(number)
            self.wake(process)
        elif isinstance(action, int):
            self.finish(process, ExitStatus(action))

    def cpu_bound(self, process: Process) -> None:
        """A process that never waits has used up its turn."""
        self._cpu_bound_turns += 1
        if self._cpu_bound_turns == 1:
            name = " ".join(process.argv)
            self.note(f"{name!r} never waits: it is taken for a server that keeps a CPU busy")

    def begin_instant(self, now: int) -> None:
        """Reset the work counter; each full instant reduces the limit of the next."""
        if self.spent > self.steps_per_instant:
            self.steps_per_instant = max(LEAST_STEPS_PER_INSTANT, self.steps_per_instant * 3 // 4)
        self.spent_at, self.spent = now, 0

    def cpu_bound_steps(self) -> int:
        return turn_when_cpu_bound(self._cpu_bound_turns)

    def claim_memory(self, size: int) -> None:
        """Allocate bytes. Exceeding the limit ends the container (memory.oom.group)."""
        if self.held + size > min(self.memory_limit or MEMORY_LIMIT, LARGEST_MEMORY):
            self.kill_out_of_memory()

    def kill_out_of_memory(self) -> None:
        assert self.init is not None
        self.finish(self.init, ExitStatus(128 + KILL, KILL, oom_killed=True))
        raise Terminated

    def resolve(self, host: str) -> str | None:
        """The address of a host name from /etc/hosts or the network; None if unknown."""
        known = () if is_address(host) else self.hosts_entry(host)
        return known[0] if known else self.network.resolve(host)

    def hosts_entry(self, host: str) -> Sequence[str]:
        """The first line of /etc/hosts with this name: address and names. Empty if there is none."""
        file = self.files.file("/etc/hosts")
        for line in () if file is None else file.text.splitlines():
            words = line.partition("#")[0].split()
            if host in words[1:]:
                return words
        return ()

    def random(self) -> RandomStream:
        if self._random is None:
            self._random = self.randomness.stream("shell", self.network.hostname)
        return self._random
