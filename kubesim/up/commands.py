"""exec and attach: a command, or the main process, with the streams of a client.

Mirrors: kubelet/pkg/cri/streaming/remotecommand (exec.go, attach.go); pkg/registry/core/pod/rest/subresources.go
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from aiohttp import web

from kubesim.clock import Awaited
from kubesim.cluster.problems import bad_request
from kubesim.cluster.streams.channels import MUCH, Channels, open_channels
from kubesim.concurrency import TaskSet
from kubesim.errors import RuntimeCallError
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, SimulatedContainer
from kubesim.runtime.simulated.containers.shell_process import ShellProcess
from kubesim.shell import ExitStatus
from kubesim.shell.kernel.streams import Log, Stream
from kubesim.shell.kernel.terminal import InputTooLong, PipedInput, Screen, Terminal, encode
from kubesim.up.pods import PodRequest

_DRAIN_POLL = 10_000
_SUCCESS = {"metadata": {}, "status": "Success"}


async def serve_exec(asked: PodRequest, request: web.BaseRequest) -> web.StreamResponse:
    command = tuple(asked.query.get("command", ()))
    if not command:
        raise bad_request("you must specify at least one command for the container")
    wanted = _wanted(asked)
    _, _, process = asked.running()
    async with open_channels(request, wanted, asked.pods.clock) as channels:
        try:
            if isinstance(process, ShellProcess):
                code = await _exec(asked, channels, process, command)
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


def _wanted(asked: PodRequest) -> set[str]:
    names = {name for name in ("stdin", "stdout", "stderr") if asked.flag(name)}
    if not names:
        raise bad_request("you must specify at least one of stdin, stdout, stderr")
    if asked.flag("tty"):
        names -= {"stderr"}
        names |= {"resize"} if "stdin" in names else set()
    return names - {"resize"}


def _ended(command: tuple[str, ...], code: int | None) -> dict[str, Any] | None:
    """The exit status of a command; None: the client has disconnected."""
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
    """Run exec in a container that a behaviour of the scenario simulates: it reads no input."""
    result = await process.exec(command)
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            channels.send(name, encode(text))
    return result.exit_code


async def _exec(asked: PodRequest, channels: Channels, process: ShellProcess, command: tuple[str, ...]) -> int | None:
    ended: Awaited[ExitStatus] = Awaited(f"the end of {' '.join(command)!r}")
    streams, source, screens = _streams(asked, channels)
    session = process.begin_exec(command, streams, partial(_settle, ended))
    if isinstance(source, Terminal):
        source.interrupt = session.interrupt
    if source is not None:
        channels.listen(source.feed)
    async with TaskSet() as tasks:
        tasks.start("exec drain", _stir(asked, channels, screens))
        tasks.start("exec client", _when_gone(channels, lambda: _settle(ended, None)))
        try:
            status = await ended
        finally:  # if its client disconnects, the command continues without input, as with containerd
            if isinstance(source, PipedInput):
                source.feed(b"")
    return None if status is None else status.code


def _settle(ended: Awaited[Any], status: object) -> None:
    if not ended.done():
        ended.set_result(status)


async def _when_gone(channels: Channels, act: Callable[[], None]) -> None:
    await channels.closed()
    act()


async def _stir(asked: PodRequest, channels: Channels, screens: list[Screen]) -> None:
    """Wake programs that wait for a slow client."""
    while True:
        await asked.pods.clock.sleep(_DRAIN_POLL)
        if channels.waiting <= MUCH:
            for screen in screens:
                screen.stir()


def _streams(
    asked: PodRequest, channels: Channels
) -> tuple[dict[int, Stream], PipedInput | Terminal | None, list[Screen]]:
    """The file descriptors of the command, connected to the client's input and output."""

    def screen(name: str) -> Screen:
        return Screen(lambda text: channels.send(name, encode(text)), lambda: channels.waiting > MUCH)

    if asked.flag("tty"):
        terminal = Terminal(lambda text: channels.send("stdout", encode(text)))
        output = terminal.screen(lambda: channels.waiting > MUCH)
        source: PipedInput | Terminal | None = terminal if asked.flag("stdin") else None
        streams = {1: output, 2: output} | ({0: terminal.stream} if source is not None else {})
        return dict(streams), source, [output]
    piped = PipedInput() if asked.flag("stdin") else None
    out = {number: screen(name) for number, name in ((1, "stdout"), (2, "stderr")) if asked.flag(name)}
    return {**out, **({0: piped.stream} if piped is not None else {})}, piped, list(out.values())


async def serve_attach(asked: PodRequest, request: web.BaseRequest) -> web.StreamResponse:
    wanted = _wanted(asked)
    pod, container, process = asked.running()
    name = container.info.name
    if asked.flag("tty") and not container.config.container.tty:
        raise bad_request(f"container {name} of pod {pod.metadata.name} has no TTY: attach without -t")
    if asked.flag("stdin") and not container.config.container.stdin:
        raise bad_request(f"container {name} of pod {pod.metadata.name} has no stdin: attach without -i")
    async with open_channels(request, wanted, asked.pods.clock) as channels:
        if await _attach(asked, channels, container, process):
            await channels.finish(_SUCCESS)
    return channels.response


async def _attach(
    asked: PodRequest, channels: Channels, container: SimulatedContainer, process: ContainerProcess
) -> bool:
    """Stream until the container ends (returns True) or the client disconnects."""
    over: Awaited[bool] = Awaited("the end of an attached container")
    log: Log | None = getattr(process, "log", None)
    source = process.input if isinstance(process, ShellProcess) and asked.flag("stdin") else None
    tty = container.config.container.tty

    def written(stream: str, text: str) -> None:
        if asked.flag(stream) or tty:
            channels.send("stdout" if tty else stream, encode(text))

    def ended(future: Awaited[None]) -> None:
        _settle(over, True)

    if log is not None:
        log.attached = [*(log.attached or ()), written]
    if source is not None:
        channels.listen(source.feed)
    exited: Awaited[None] = Awaited("the end of a container")
    exited.add_done_callback(lambda _: ended(exited))
    container.exited.append(exited)
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
