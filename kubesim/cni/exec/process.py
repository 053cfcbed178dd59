"""Runs real plugins as processes, with limits on their number, output and (through the context) time.

A plugin runs in its own process group. When its context is done, it is killed together with everything that it started.
libcni kills only the plugin itself and then waits for any process that still has its output open. A cancelled call
leaves no process behind either.

Most plugins print little: their output stays in the pipes until they end, so a run needs one wake-up. The output of a
slow process is read while it runs, because a full pipe would block it.

It does not use `anyio.run_process`, which takes at least 1.3 times as long for a run of `cat` (best of 15 rounds of
40), kills only the plugin itself and, before Python 3.12, starts a thread per process.

Mirrors: containernetworking/cni pkg/invoke/raw_exec.go; Go's os/exec Cmd.Run
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kubesim.clock import VirtualLoop, external
from kubesim.clock.stopwatch import Stopwatch
from kubesim.clock.wall_timer import WallTimer, wall_sleep
from kubesim.cni.exec.child import Child, OwnChild, Spawn
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.plugin_files import find_in_path, plugin_failure
from kubesim.errors import PluginError
from kubesim.golang.file_errors import errno_text
from kubesim.linux.process_tree import kill_all
from kubesim.values import value_object

AT_ONCE: Final = 64
MOST_OUTPUT: Final = 16 * 1024 * 1024  # bytes of each stream
_BUSY_TRIES = 6
_KILLED_OUTPUT_S = 0.5  # how long a killed plugin's output may stay open
_DRAIN_S = 0.02  # how long a plugin's output may stay in its pipes
_CHUNK = 65536
_CHUNKS = 64  # reads in a row


@value_object
class Execution:
    """One execution of a plugin. `how` is empty for success, otherwise Go's text: `exit status 1`."""

    path: str
    environ: Mapping[str, str]
    stdin: bytes
    stdout: bytes
    stderr: bytes
    how: str
    seconds: float


class RealExec:
    """Runs plugins from disk. `observe` is called for every run, `log` with stderr of a successful plugin; `spawn`
    starts the processes.
    """

    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,
        observe: Callable[[Execution], None] | None = None,
        log: Callable[[bytes], object] | None = None,
        busy_wait_s: float = 1.0,
        most_output: int = MOST_OUTPUT,
        spawn: Spawn = OwnChild,
    ) -> None:
        self._turns = asyncio.Semaphore(at_once)  # first come, first served
        self._observe = observe
        self._log = _to_stderr if log is None else log
        self._busy_wait_s = busy_wait_s
        self._most_output = most_output
        self._spawn = spawn

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return find_in_path(plugin, paths)

    async def exec_plugin(
        self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context = BACKGROUND
    ) -> bytes:
        async with self._turns:
            with external():
                run = await self._run(path, stdin, environ, ctx)
        if run.how:
            raise plugin_failure(run.how, run.stdout, run.stderr)
        if run.stderr:
            self._log(run.stderr)
        return run.stdout

    async def _run(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> Execution:
        watch = Stopwatch()
        process = _Process(path, self._most_output, self._spawn)
        how = await self._start(process, stdin, environ, ctx)
        if not how:
            how = await process.wait(ctx)
        run = Execution(path, environ, stdin, bytes(process.stdout), bytes(process.stderr), how, watch.seconds())
        if self._observe is not None:
            self._observe(run)
        if process.too_much:
            raise PluginError(0, f"netplugin printed more than {self._most_output} bytes and was killed")
        return run

    async def _start(self, process: _Process, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> str:
        """Start the plugin; on failure, the error in Go's words. A file that is being written (ETXTBSY) is retried."""
        for attempt in range(_BUSY_TRIES):
            if ctx.problem:
                return ctx.problem
            try:
                process.start(stdin, environ)
                return ""
            except OSError as error:
                if error.errno != errno.ETXTBSY or attempt == _BUSY_TRIES - 1:
                    return f"fork/exec {process.path}: {errno_text(error)}"
            except ValueError:
                return f"fork/exec {process.path}: invalid argument"
            await wall_sleep(self._busy_wait_s)
        raise AssertionError("unreachable")


def _to_stderr(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.flush()


class _Process:
    """A child process with its two outputs. It is finished when it was reaped and both outputs are closed."""

    def __init__(self, path: str, most_output: int, spawn: Spawn) -> None:
        self.path = path
        self._spawn = spawn
        self.stdout, self.stderr = bytearray(), bytearray()
        self.too_much = False
        self._most_output = most_output
        self._child: Child | None = None  # None once it has ended
        self._pid = 0
        self._status: int | None = None
        self._outputs: dict[int, bytearray] = {}  # open pipe ends and their output
        self._reading = False  # true if its outputs wake us
        self._killed = False
        self._interrupted = False  # it was killed while running
        self._output_timer: WallTimer | None = None
        self._ended: asyncio.Future[None] | None = None

    def start(self, stdin: bytes, environ: Mapping[str, str]) -> None:
        fds: list[int] = []
        try:
            given = os.memfd_create("cni-stdin")  # a memory file needs no writer while the plugin reads
            fds.append(given)
            os.write(given, stdin)
            os.lseek(given, 0, os.SEEK_SET)
            out, out_end = os.pipe()
            fds += out, out_end
            err, err_end = os.pipe()
            fds += err, err_end
            self._child = self._spawn(self.path, environ, (given, out_end, err_end))
            self._pid = self._child.pid
            fds.remove(out)
            fds.remove(err)
        finally:
            for fd in fds:
                os.close(fd)
        self._outputs = {out: self.stdout, err: self.stderr}

    async def wait(self, ctx: Context) -> str:
        """Wait for its end; returns how it ended."""
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        assert self._child is not None
        loop.add_reader(self._child.exit_fd, self._exited)
        for fd in self._outputs:
            os.set_blocking(fd, False)
        drain_timer: asyncio.TimerHandle | None = None
        if isinstance(loop, VirtualLoop):  # virtual timers do not advance during the pause
            self._read_while_running()
        else:
            drain_timer = loop.call_later(_DRAIN_S, self._read_while_running)
        try:
            if ctx is BACKGROUND:
                await self._ended
            else:
                with ctx.listening(self._kill):
                    await self._ended
        finally:
            if drain_timer is not None:
                drain_timer.cancel()
            self._finish()
        assert self._status is not None
        if self._interrupted and not self._status:  # it succeeded, but perhaps only because it was interrupted
            return ctx.problem
        return describe_status(self._status)

    def _read_while_running(self) -> None:
        """From now on, output wakes us too."""
        self._reading = True
        for fd in self._outputs:
            asyncio.get_running_loop().add_reader(fd, self._read, fd)

    def _read(self, fd: int) -> None:
        """Read available output."""
        collected = self._outputs[fd]
        for _ in range(_CHUNKS):
            try:
                data = os.read(fd, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._close(fd)
                self._check_ended()
                return
            if not self.too_much:
                collected += data
            if len(collected) > self._most_output and not self.too_much:
                self.too_much = True
                self._kill()

    def _close(self, fd: int) -> None:
        if self._reading:
            asyncio.get_running_loop().remove_reader(fd)
        del self._outputs[fd]
        os.close(fd)

    def _exited(self) -> None:
        """The process has ended. Its outputs are usually closed, unless a process that it started has them."""
        self._poll()
        self._close_child()
        for fd in list(self._outputs):
            self._read(fd)
        if self._outputs and not self._reading:
            self._read_while_running()
        self._check_ended()

    def _poll(self) -> None:
        """Check whether it has ended."""
        if self._child is not None:
            self._status = self._child.status()

    def _close_child(self) -> None:
        if self._child is not None:
            asyncio.get_running_loop().remove_reader(self._child.exit_fd)
            self._child.close()
            self._child = None

    def _check_ended(self) -> None:
        if self._status is not None and not self._outputs and self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def _kill(self) -> None:
        """Kill the process and its descendants. Wait only briefly for a process that has its output open."""
        if self._killed or (self._status is not None and not self._outputs):
            return
        self._killed = True
        self._poll()
        self._interrupted = self._status is None
        kill_all(self._pid, self._status is None, self._outputs)
        self._output_timer = WallTimer(_KILLED_OUTPUT_S, self._give_up)

    def _give_up(self) -> None:
        for fd in list(self._outputs):
            self._close(fd)
        self._check_ended()

    def _finish(self) -> None:
        """Kill and reap the process, however the wait ended. It blocks, because a killed process ends at once."""
        if self._output_timer is not None:
            self._output_timer.close()
        if self._status is None and self._child is not None:
            kill_all(self._pid, True, self._outputs)
            poll = select.poll()
            poll.register(self._child.exit_fd, select.POLLIN)
            poll.poll(1000)
            self._poll()
        self._close_child()
        for fd in list(self._outputs):
            self._close(fd)


def describe_status(status: int) -> str:
    """Go's text: `exit status 1`, `signal: killed`; empty for success."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        dumped = " (core dumped)" if os.WCOREDUMP(status) else ""
        return f"signal: {_SIGNALS.get(number, f'signal {number}')}{dumped}"
    code = os.waitstatus_to_exitcode(status)
    return f"exit status {code}" if code else ""


_SIGNALS: Final[dict[int, str]] = {
    signal.SIGHUP: "hangup",
    signal.SIGINT: "interrupt",
    signal.SIGQUIT: "quit",
    signal.SIGILL: "illegal instruction",
    signal.SIGTRAP: "trace/breakpoint trap",
    signal.SIGABRT: "aborted",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "floating point exception",
    signal.SIGKILL: "killed",
    signal.SIGUSR1: "user defined signal 1",
    signal.SIGSEGV: "segmentation fault",
    signal.SIGUSR2: "user defined signal 2",
    signal.SIGPIPE: "broken pipe",
    signal.SIGALRM: "alarm clock",
    signal.SIGTERM: "terminated",
}
