"""The registry of programs, and how they are run.

There are two kinds: a quick program never waits and is a function from arguments to a `ProgramResult`; others are
coroutines. Any other name is a script in the container's files, a tool that is assumed to succeed, or a server.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from kubesim.shell.kernel.files import FileFault, VirtualFiles
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.servers import (
    begin_server,
    is_known_server,
    is_tool,
    program_name,
    send_nginx_signal,
)

__all__ = [
    "PROGRAMS",
    "QUICK",
    "Program",
    "ProgramResult",
    "Quick",
    "emit",
    "execute",
    "is_known",
    "program",
    "program_name",
    "quick",
]


class ProgramResult(NamedTuple):
    """The result of a quick program: exit code, stdout and stderr."""

    code: int = 0
    out: str = ""
    err: str = ""


OUT_OF_RANGE = "Numerical result out of range"  # a number outside the range of the real program

Quick = Callable[[Process, list[str]], ProgramResult]
Program = Callable[[Process, list[str]], Coroutine[Any, Any, int]]

QUICK: dict[str, Quick] = {}
PROGRAMS: dict[str, Program] = {}


def quick(*names: str) -> Callable[[Quick], Quick]:
    """Register a program that never waits."""

    def register(function: Quick) -> Quick:
        for name in names:
            QUICK[name] = function
        return function

    return register


def program(*names: str) -> Callable[[Program], Program]:
    """Register a program that may wait."""

    def register(function: Program) -> Program:
        for name in names:
            PROGRAMS[name] = function
        return function

    return register


def is_known(command: str, files: VirtualFiles, directory: str) -> bool:
    """Whether an exec of this command finds a program."""
    name = program_name(command)
    if name in QUICK or name in PROGRAMS or is_known_server(name) or is_tool(name):
        return True
    return "/" in command and files.file(posixpath.join(directory, command)) is not None


async def execute(process: Process, argv: list[str]) -> int:
    """Run a program in this process."""
    try:
        return await _execute(process, argv)
    except FileFault as fault:  # of a write; programs report failed opens themselves
        return await process.complain(f"{argv[0]}: write error: {fault}")
    except (ValueError, OverflowError):
        return await process.complain(f"{argv[0]}: {OUT_OF_RANGE}")


async def _execute(process: Process, argv: list[str]) -> int:
    process.argv = argv
    name = program_name(argv[0])
    if name == "busybox" and len(argv) > 1:
        return await _execute(process, argv[1:])
    if name in process.kernel.permissions.masked:
        await process.complain(f"exec {argv[0]}: permission denied")
        return 126
    if (function := QUICK.get(name)) is not None:
        result = function(process, argv)
        await emit(process, result)
        return result.code
    if (coroutine := PROGRAMS.get(name)) is not None:
        return await coroutine(process, argv)
    if "/" in argv[0] and process.kernel.files.file(posixpath.join(process.directory, argv[0])) is not None:
        return await PROGRAMS["sh"](process, ["sh", *argv])
    if is_tool(name):
        process.kernel.note(f"{argv[0]} is not simulated: it exits with 0 at once")
        return 0
    if process.strict and not is_known_server(name):
        await process.complain(f"sh: {argv[0]}: not found")
        return 127
    if name == "nginx" and "-s" in argv:
        return send_nginx_signal(process, argv)
    if failure := begin_server(process, argv):
        return await process.complain(failure)
    return await process.sleep_forever()


async def emit(process: Process, result: ProgramResult) -> None:
    if result.out:
        await process.write(result.out)
    if result.err:
        await process.write(result.err, 2)
