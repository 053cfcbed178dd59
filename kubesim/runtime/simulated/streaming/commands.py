"""exec and attach: connect a client's streams to a command or to a container's main process.

Mirrors: kubelet/pkg/cri/streaming/remotecommand (exec.go, attach.go)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from aiohttp import web

from kubesim.clock import Awaited, LoopClock
from kubesim.cluster.streams.channels import MUCH, Channels, open_channels
from kubesim.concurrency import TaskSet
from kubesim.errors import RuntimeCallError
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, SimulatedContainer
from kubesim.runtime.simulated.containers.shell_process import ShellProcess
from kubesim.shell import ExitStatus
from kubesim.shell.kernel.streams import Log, Stream
from kubesim.shell.kernel.terminal import InputTooLong, PipedInput, Screen, Terminal, encode
from kubesim.values import value_object

_DRAIN_POLL = 10_000
_SUCCESS = {"metadata": {}, "status": "Success"}


@value_object
class StreamOptions:
    """The streams that a client requests."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False

    def channels(self) -> set[str]:
        """The channels; with a terminal, stderr is part of stdout."""
        wanted = {"stdin": self.stdin, "stdout": self.stdout, "stderr": self.stderr and not self.tty}
        return {name for name, is_wanted in wanted.items() if is_wanted}

    def shows(self, stream: str) -> bool:
        return self.stdout if stream == "stdout" else self.stderr


async def stream_exec(
    request: web.BaseRequest,
    process: ContainerProcess,
    command: tuple[str, ...],
    options: StreamOptions,
    clock: LoopClock,
) -> web.StreamResponse:
    """Raises ApiError if the client does not request streaming."""
    async with open_channels(request, options.channels(), clock) as channels:
        try:
            if isinstance(process, ShellProcess):
                code = await _exec(_Client(channels, options, clock), process, command)
            else:
                code = await _exec_whole(channels, process, command)
            status = _ended(command, code)
        except RuntimeCallError as error:
            status = _internal(f"error executing command in container: {error}")
        except InputTooLong:
            status = _internal("the command does not read its input")
        if status is not None:
            await channels.finish(status)
    return channels.response


async def stream_attach(
    request: web.BaseRequest,
    container: SimulatedContainer,
    process: ContainerProcess,
    options: StreamOptions,
    clock: LoopClock,
) -> web.StreamResponse:
    """Raises ApiError if the client does not request streaming."""
    async with open_channels(request, options.channels(), clock) as channels:
        if await _attach(_Client(channels, options, clock), container, process):
            await channels.finish(_SUCCESS)
    return channels.response


@value_object
class _Client:
    channels: Channels
    options: StreamOptions
    clock: LoopClock


def _ended(command: tuple[str, ...], code: int | None) -> dict[str, Any] | None:
    """The exit code; None if the client has disconnected."""
    if code is None or code == 0:
        return None if code is None else _SUCCESS
    shown = f"error executing command [{' '.join(command)}], exit code {code}"
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {shown}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _internal(problem: str) -> dict[str, Any]:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {problem}",
        "reason": "InternalError",
        "details": {"causes": [{"message": problem}]},
        "code": 500,
    }


async def _exec_whole(channels: Channels, process: ContainerProcess, command: tuple[str, ...]) -> int:
    """Exec in a container with a behaviour: without input."""
    result = await process.exec(command)
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            channels.send(name, encode(text))
    return result.exit_code


async def _exec(client: _Client, process: ShellProcess, command: tuple[str, ...]) -> int | None:
    channels = client.channels
    ended: Awaited[ExitStatus] = Awaited(f"the end of {' '.join(command)!r}")
    streams, source, screens = _streams(client)
    session = process.begin_exec(command, streams, partial(_settle, ended))
    if isinstance(source, Terminal):
        source.interrupt = session.interrupt
    if source is not None:
        channels.listen(source.feed)
    async with TaskSet() as tasks:
        tasks.start("exec drain", _wake_blocked_programs(client, screens))
        tasks.start("exec client", _when_gone(channels, lambda: _settle(ended, None)))
        try:
            status = await ended
        finally:  # without its client the command continues without input, as with containerd
            if isinstance(source, PipedInput):
                source.feed(b"")
    return None if status is None else status.code


def _settle(ended: Awaited[Any], status: object) -> None:
    if not ended.done():
        ended.set_result(status)


async def _when_gone(channels: Channels, act: Callable[[], None]) -> None:
    await channels.closed()
    act()


async def _wake_blocked_programs(client: _Client, screens: list[Screen]) -> None:
    """Wake programs that wait for a slow client."""
    while True:
        await client.clock.sleep(_DRAIN_POLL)
        if client.channels.waiting <= MUCH:
            for screen in screens:
                screen.notify()


def _streams(client: _Client) -> tuple[dict[int, Stream], PipedInput | Terminal | None, list[Screen]]:
    """File descriptors of the command, the client's input and its output."""
    channels, options = client.channels, client.options

    def screen(name: str) -> Screen:
        return Screen(lambda text: channels.send(name, encode(text)), lambda: channels.waiting > MUCH)

    if options.tty:
        terminal = Terminal(lambda text: channels.send("stdout", encode(text)))
        output = terminal.screen(lambda: channels.waiting > MUCH)
        source: PipedInput | Terminal | None = terminal if options.stdin else None
        streams = {1: output, 2: output} | ({0: terminal.stream} if source is not None else {})
        return dict(streams), source, [output]
    piped = PipedInput() if options.stdin else None
    out = {number: screen(name) for number, name in ((1, "stdout"), (2, "stderr")) if options.shows(name)}
    return {**out, **({0: piped.stream} if piped is not None else {})}, piped, list(out.values())


async def _attach(client: _Client, container: SimulatedContainer, process: ContainerProcess) -> bool:
    """Stream until the container ends (True) or the client disconnects."""
    channels, options = client.channels, client.options
    over: Awaited[bool] = Awaited("the end of an attached container")
    log: Log | None = getattr(process, "log", None)
    source = process.input if isinstance(process, ShellProcess) and options.stdin else None
    tty = container.config.container.tty

    def written(stream: str, text: str) -> None:
        if options.shows(stream) or tty:
            channels.send("stdout" if tty else stream, encode(text))

    def ended(future: Awaited[None]) -> None:
        _settle(over, True)

    if log is not None:
        log.attached = [*(log.attached or ()), written]
    exited: Awaited[None] = Awaited("the end of a container")
    exited.add_done_callback(lambda _: ended(exited))
    container.exited.append(exited)
    if source is not None:
        channels.listen(source.feed)  # what the client has sent already may end the container
    try:
        async with TaskSet() as tasks:
            tasks.start("attach client", _when_gone(channels, lambda: _settle(over, False)))
            return await over
    finally:
        exited.cancel()
        if log is not None and log.attached:
            log.attached = [each for each in log.attached if each is not written] or None
        if source is not None and container.config.container.stdin_once:
            source.feed(b"")
