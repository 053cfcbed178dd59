"""Runs scripts as PID 1 of a container in virtual time, and returns the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kubesim.clock import LoopClock, run_virtual
from kubesim.shell import ExitStatus, Kernel, ShellContainer

SECOND = 1_000_000


@dataclass(frozen=True)
class Outcome:
    status: ExitStatus
    out: str
    err: str
    seconds: float
    notes: list[str]

    @property
    def code(self) -> int:
        return self.status.code


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def output(container: ShellContainer, stream: str) -> str:
    return "".join(line.text + "\n" for line in container.log.lines if line.stream == stream)


def container_of(argv: Sequence[str], clock: LoopClock, **options: Any) -> ShellContainer:
    """A container with the options of `ShellContainer` or its kernel."""
    own = {name: options.pop(name) for name in ("environment", "working_directory", "on_exit") if name in options}
    return ShellContainer(tuple(argv), Kernel(clock, **options), **own)


def run(script: str | list[str], **options: Any) -> Outcome:
    """Run a script (or a command line) to its end."""

    async def main() -> Outcome:
        clock = LoopClock()
        notes: list[str] = []
        argv = sh(script) if isinstance(script, str) else script
        container = container_of(argv, clock, note=notes.append, **options)
        container.start()
        status = await container.exited()
        seconds = clock.elapsed() / SECOND
        return Outcome(status, output(container, "stdout"), output(container, "stderr"), seconds, notes)

    return run_virtual(main)


def play(script: str | list[str], story: Callable[[ShellContainer, LoopClock], Awaitable[Any]], **options: Any) -> Any:
    """Start a script, run the test's actions, and return its result; then kill the container."""

    async def main() -> Any:
        clock = LoopClock()
        argv = sh(script) if isinstance(script, str) else script
        container = container_of(argv, clock, **options)
        container.start()
        result = await story(container, clock)
        container.kill()
        return result

    return run_virtual(main)
