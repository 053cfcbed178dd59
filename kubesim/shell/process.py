"""A container's process for the runtime: start, signal, exec, log, and wait for the end.

`ShellContainer` is the entry point of this package. `plan` decides once per command line how to run it: the most common
ones need no shell, only a timer (`sleep 3600`, `sh -c "exit 1"`) or nothing at all (a server).
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import lru_cache

from kubesim.clock import Awaited
from kubesim.shell.builtin import BUILTINS
from kubesim.shell.interpreter import SHELLS
from kubesim.shell.kernel.files import STANDARD_DIRECTORIES, VirtualFiles
from kubesim.shell.kernel.kernel import ExitStatus, Kernel, Process
from kubesim.shell.kernel.signals import KILL
from kubesim.shell.kernel.standard_streams import connect_to_log
from kubesim.shell.kernel.streams import Capture, Log, Stream
from kubesim.shell.language.parser import parse
from kubesim.shell.language.syntax import Simple
from kubesim.shell.limits import is_too_long
from kubesim.shell.programs import PROGRAMS, QUICK, execute, is_known, program_name
from kubesim.shell.programs.system import total_duration
from kubesim.shell.servers import begin_server, is_tool
from kubesim.values import part, value_object


@value_object
class CommandResult:
    """The result of an exec."""

    exit_code: int
    stdout: str
    stderr: str


@value_object
class CommandNotFound:
    """The program does not exist, so the runtime could not start the exec (OCI exit code 126 or 127)."""

    program: str


@value_object
class TimedOut:
    """The exec timed out and was killed; contains its output so far."""

    stdout: str
    stderr: str


@value_object
class NotRunning:
    """The container has no running process."""


ExecOutcome = CommandResult | CommandNotFound | TimedOut | NotRunning


class PlanKind(Enum):
    INTERPRET = "interpret"
    SLEEP = "sleep"
    EXIT = "exit"
    SERVE = "serve"


@value_object
class Plan:
    """How to run a command line. `value` is a duration in microseconds (-1 forever) or an exit code."""

    kind: PlanKind
    argv: tuple[str, ...]
    value: int = 0


@lru_cache(maxsize=4096)
def plan(argv: tuple[str, ...]) -> Plan:
    """Plan from the command line alone, if possible; the plan's `argv` is the program that really runs."""
    words = _simple_words(argv)
    if words is None:
        return Plan(PlanKind.INTERPRET, argv)
    name = program_name(words[0])
    if name == "sleep":
        length = total_duration(list(words[1:]))
        return Plan(PlanKind.INTERPRET, argv) if length is None else Plan(PlanKind.SLEEP, words, length)
    if name in ("true", "false", ":"):
        return Plan(PlanKind.EXIT, words, int(name == "false"))
    if words[0] == "exit" and words != argv and len(words) <= 2:
        code = words[1] if len(words) == 2 else "0"
        return Plan(PlanKind.EXIT, argv, int(code) & 0xFF) if code.isdigit() else Plan(PlanKind.INTERPRET, argv)
    known = name in QUICK or name in PROGRAMS or name in BUILTINS or name == "busybox" or is_tool(name)
    return Plan(PlanKind.INTERPRET, argv) if known else Plan(PlanKind.SERVE, words)


def _simple_words(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """The single command: `argv` itself, or the content of a shell's text; None if there is more."""
    if not argv or program_name(argv[0]) not in SHELLS:
        return argv or None
    words = argv[3:] if argv[2:3] == ("--",) else argv[2:]
    if argv[1:2] != ("-c",) or len(words) != 1:
        return None
    script = parse(words[0])
    if script.error or len(script.lines) != 1 or len(script.lines[0]) != 1:
        return None
    statement = script.lines[0][0]
    command = statement.first.commands[0]
    if statement.background or statement.rest or len(statement.first.commands) > 1 or statement.first.negated:
        return None
    if not isinstance(command, Simple) or command.assignments or command.redirects or not command.words:
        return None
    plain = [word.plain for word in command.words if word.plain is not None]
    if len(plain) < len(command.words):
        return None
    return tuple(plain[1:] if plain[0] == "exec" and len(plain) > 1 else plain)


def is_missing_program(argv: Sequence[str], files: VirtualFiles) -> bool:
    """Whether the command is certainly not in the image, so that the runtime cannot start the container.

    The content of an image is unknown, but no image has a directory as in `/no/such/command`.
    """
    command = argv[0] if argv else ""
    first, slash, _ = command.lstrip("/").partition("/")
    if not command.startswith("/") or not slash or files.file(command) is not None:
        return False
    return first not in STANDARD_DIRECTORIES and not files.is_directory("/" + first)


@part
class ShellContainer:
    """PID 1 of a container and its child processes. `argv` is command and arguments, merged and expanded."""

    argv: tuple[str, ...]
    kernel: Kernel
    environment: Mapping[str, str] = field(default_factory=dict)
    working_directory: str = "/"
    on_exit: Callable[[ExitStatus], None] = lambda status: None
    status: ExitStatus | None = None
    _waiters: list[asyncio.Future[ExitStatus]] = field(default_factory=list)

    @property
    def log(self) -> Log:
        return self.kernel.log

    @property
    def files(self) -> VirtualFiles:
        return self.kernel.files

    @property
    def running(self) -> bool:
        return self.kernel.init is not None and self.status is None

    def processes(self) -> list[tuple[int, str]]:
        """The running processes: (pid, command line)."""
        return [(process.pid, " ".join(process.argv)) for process in self.kernel.processes.values()]

    # Life.

    def start(self) -> None:
        """Start the process. Its first commands run at this instant, but after this call: no end is reported before it
        returns.
        """
        kernel = self.kernel
        process = kernel.new_process(list(self.argv), self.environment, self.working_directory)
        process.on_exit = self._ended
        chosen = plan(self.argv)
        if (
            chosen.kind is PlanKind.SERVE
            and self.files.file(posixpath.join(self.working_directory, chosen.argv[0])) is not None
        ):
            chosen = Plan(PlanKind.INTERPRET, self.argv)  # a mounted script
        now = kernel.clock.now()
        if is_too_long(self.argv, self.environment):
            path = self.argv[0] if self.argv[0].startswith("/") else f"/bin/{self.argv[0]}"
            kernel.log.write("stderr", f"exec {path}: argument list too long\n")
            process.timer = kernel.clock.call_at(now, kernel.finish, process, ExitStatus(255))  # as runc does
        elif chosen.kind is PlanKind.SLEEP:
            if chosen.value >= 0:
                process.timer = kernel.clock.call_at(now + chosen.value, kernel.finish, process, ExitStatus(0))
        elif chosen.kind is PlanKind.EXIT:
            process.timer = kernel.clock.call_at(now, kernel.finish, process, ExitStatus(chosen.value))
        elif chosen.kind is PlanKind.SERVE:
            failure = begin_server(process, list(chosen.argv))
            if failure:
                kernel.log.write("stderr", failure + "\n")
                process.timer = kernel.clock.call_at(now, kernel.finish, process, ExitStatus(1))
        else:
            process.timer = kernel.clock.call_at(now, self._interpret, process)

    def _interpret(self, process: Process) -> None:
        kernel = self.kernel
        process.timer = None
        connect_to_log(process)
        kernel.run(process, execute(process, list(self.argv)))

    def signal(self, number: int) -> None:
        """Send a signal as the runtime does. KILL ends every process before this call returns."""
        if self.kernel.init is not None:
            self.kernel.deliver(self.kernel.init, number, outside=True)

    def kill(self) -> None:
        self.signal(KILL)

    def kill_out_of_memory(self) -> None:
        """Kill the container as the node's OOM killer does."""
        if self.kernel.init is not None:
            self.kernel.finish(self.kernel.init, ExitStatus(128 + KILL, KILL, oom_killed=True))

    async def exited(self) -> ExitStatus:
        """Wait for the end; returns immediately if it is known."""
        if self.status is not None:
            return self.status
        future: Awaited[ExitStatus] = Awaited(f"the end of {' '.join(self.argv)!r}")
        self._waiters.append(future)
        try:
            return await future
        finally:
            if future in self._waiters:
                self._waiters.remove(future)

    def _ended(self, status: ExitStatus) -> None:
        self.status = status
        for future in self._waiters:
            if not future.done():
                future.set_result(status)
        self._waiters.clear()
        self.on_exit(status)

    # Exec.

    async def exec(self, argv: Sequence[str], timeout: int | None = None) -> ExecOutcome:
        """Run a command in the container, with its files, ports and environment. The timeout is in microseconds.

        A command that does not wait completes without yielding. Cancelling the call kills the command.
        """
        kernel = self.kernel
        if not self.running:
            return NotRunning()
        if not argv or not is_known(argv[0], kernel.files, self.working_directory):
            return CommandNotFound(argv[0] if argv else "")
        process = kernel.new_process(list(argv), self.environment, self.working_directory)
        process.strict = True
        stdout, stderr = Capture(), Capture()
        process.streams = {0: kernel.null.hold(), 1: stdout.hold(), 2: stderr.hold()}
        kernel.run(process, execute(process, list(argv)))
        if process.status is None and not await self._await_exec(process, timeout):
            return TimedOut(stdout.text(), stderr.text())
        assert process.status is not None
        return CommandResult(process.status.code, stdout.text(), stderr.text())

    def begin_exec(
        self, argv: Sequence[str], streams: Mapping[int, Stream], on_exit: Callable[[ExitStatus], None]
    ) -> Process | CommandNotFound | NotRunning:
        """Start a command in the container with a client's streams; `on_exit` is called when it ends."""
        kernel = self.kernel
        if not self.running:
            return NotRunning()
        if not argv or not is_known(argv[0], kernel.files, self.working_directory):
            return CommandNotFound(argv[0] if argv else "")
        process = kernel.new_process(list(argv), self.environment, self.working_directory)
        process.strict = True
        process.streams = {number: stream.hold() for number, stream in streams.items()}
        process.on_exit = on_exit
        kernel.run(process, execute(process, list(argv)))
        return process

    async def _await_exec(self, process: Process, timeout: int | None) -> bool:
        """Whether it exited (or ended with its container) in time."""
        kernel = self.kernel
        future: Awaited[bool] = Awaited(f"the end of exec {' '.join(process.argv)!r}")

        def settle(in_time: bool) -> None:
            if not future.done():
                future.set_result(in_time)

        process.on_exit = lambda status: settle(True)
        timer = kernel.clock.call_at(kernel.clock.now() + timeout, settle, False) if timeout is not None else None
        try:
            return await future
        finally:
            if timer is not None:
                timer.cancel()
            process.on_exit = None
            kernel.deliver(process, KILL, outside=True)
