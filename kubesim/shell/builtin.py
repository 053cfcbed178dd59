"""Shell builtins: commands that change the shell's variables, control flow, traps or jobs.

Everything else (`echo`, `test`, `kill` of a pid) is an ordinary program.
"""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from kubesim.shell.kernel.devices import absolute
from kubesim.shell.kernel.kernel import Process, suspend
from kubesim.shell.kernel.signals import SIGNAL_NAMES, signal_number
from kubesim.shell.programs import QUICK, is_known
from kubesim.shell.programs.registry import emit
from kubesim.shell.state import EXIT_TRAP

if TYPE_CHECKING:
    from kubesim.shell.interpreter import Shell


class ExitShell(Exception):
    """Exit the shell with this code."""

    def __init__(self, code: int) -> None:
        self.code = code


class LeaveLoop(Exception):
    """`break` (or `continue`) out of this many loops."""

    def __init__(self, levels: int, again: bool) -> None:
        self.levels = levels
        self.again = again


class ReturnFromFunction(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


Builtin = Callable[["Shell", list[str]], Awaitable[int]]
BUILTINS: dict[str, Builtin] = {}


def builtin(*names: str) -> Callable[[Builtin], Builtin]:
    def register(function: Builtin) -> Builtin:
        for name in names:
            BUILTINS[name] = function
        return function

    return register


async def _complain(shell: Shell, text: str, code: int = 2) -> int:
    await shell.process.write(f"{shell.arg0}: {text}\n", 2)
    return code


# Control flow.


@builtin("exit")
async def exit_shell(shell: Shell, argv: list[str]) -> int:
    if len(argv) > 1 and not argv[1].isdigit():
        raise ExitShell(await _complain(shell, f"exit: Illegal number: {argv[1]}"))
    raise ExitShell(int(argv[1]) & 0xFF if len(argv) > 1 else shell.status)


@builtin("return")
async def return_from(shell: Shell, argv: list[str]) -> int:
    raise ReturnFromFunction(int(argv[1]) & 0xFF if len(argv) > 1 and argv[1].isdigit() else shell.status)


@builtin("break", "continue")
async def leave_loop(shell: Shell, argv: list[str]) -> int:
    levels = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    if shell.loops == 0 or levels < 1:
        return 0
    raise LeaveLoop(min(levels, shell.loops), argv[0] == "continue")


@builtin("eval")
async def evaluate(shell: Shell, argv: list[str]) -> int:
    return await shell.run_text(" ".join(argv[1:]))


@builtin("exec")
async def execute_in_place(shell: Shell, argv: list[str]) -> int:
    if len(argv) == 1:
        return 0  # the interpreter keeps its redirections
    return await shell.replace(argv[1:], shell.environment())


@builtin("command")
async def command(shell: Shell, argv: list[str]) -> int:
    words = argv[1:]
    if words[:1] in (["-v"], ["-V"]):
        return await show_type(shell, ["type", *words[1:]]) and 127
    return await shell.run_argv(words) if words else 0


@builtin("type")
async def show_type(shell: Shell, argv: list[str]) -> int:
    code = 0
    for name in argv[1:]:
        if name in BUILTINS or name in shell.functions:
            await shell.process.write(name + "\n")
        elif is_known(name, shell.process.kernel.files, shell.process.directory):
            await shell.process.write((name if "/" in name else f"/bin/{name}") + "\n")
        else:
            code = 127
    return code


# Variables and options.


@builtin("export", "readonly", "local", "declare")
async def export(shell: Shell, argv: list[str]) -> int:
    words = [word for word in argv[1:] if not word.startswith("-")]
    if not words and argv[0] == "export":
        for name in sorted(shell.exported):
            await shell.process.write(f"export {name}='{shell.variables.get(name, '')}'\n")
    for word in words:
        name, equals, value = word.partition("=")
        if not name.isidentifier():
            return await _complain(shell, f"{argv[0]}: {name}: bad variable name")
        if argv[0] == "local":
            shell.make_local(name)
        if equals:
            shell.assign(name, value)
        if argv[0] == "export":
            shell.exported.add(name)
    return 0


@builtin("unset")
async def unset(shell: Shell, argv: list[str]) -> int:
    for name in argv[1:]:
        if "-f" in argv:
            shell.functions.pop(name, None)
        else:
            shell.release(name)
            shell.exported.discard(name)
    return 0


@builtin("shift")
async def shift(shell: Shell, argv: list[str]) -> int:
    count = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    if count > len(shell.positional):
        return 1
    del shell.positional[:count]
    return 0


@builtin("set")
async def set_options(shell: Shell, argv: list[str]) -> int:
    words = argv[1:]
    while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            shell.positional = words
            return 0
        for letter in word[1:]:
            if letter == "o" and words:
                shell.set_option(words.pop(0), word[0] == "-")
            else:
                shell.set_option(letter, word[0] == "-")
    if words:
        shell.positional = words
    return 0


@builtin("read")
async def read(shell: Shell, argv: list[str]) -> int:
    words = argv[1:]
    raw = False
    while words and words[0].startswith("-"):
        option = words.pop(0)
        raw = raw or "r" in option
        if option[-1] in "ptnd" and words:
            words.pop(0)
    names = words or ["REPLY"]
    line = await shell.process.read_line(shell.process.stream(0))
    text = line.removesuffix("\n")
    if not raw:
        text = text.replace("\\", "")
    separators = shell.variables.get("IFS", " \t\n")
    blanks = "".join(char for char in separators if char in " \t\n")
    for name in names[:-1]:
        text = text.lstrip(blanks)
        end = next((index for index, char in enumerate(text) if char in separators), len(text))
        shell.assign(name, text[:end])
        text = text[end + 1 :]
    shell.assign(names[-1], text.strip(blanks) if blanks else text)
    return 0 if line.endswith("\n") else 1


@builtin("cd")
async def change_directory(shell: Shell, argv: list[str]) -> int:
    target = argv[1] if len(argv) > 1 else shell.variables.get("HOME", "/root")
    if target == "-":
        target = shell.variables.get("OLDPWD", "/")
    path = posixpath.normpath(absolute(shell.process, target))
    if not shell.process.kernel.files.is_directory(path):
        return await _complain(shell, f"cd: can't cd to {target}: No such file or directory")
    shell.assign("OLDPWD", shell.process.directory)
    shell.process.directory = path
    shell.assign("PWD", path)
    return 0


@builtin("umask", "ulimit", "hash", "alias", "unalias", "times", "shopt")
async def nothing(shell: Shell, argv: list[str]) -> int:
    return 0


# Signals and jobs.


@builtin("trap")
async def trap(shell: Shell, argv: list[str]) -> int:
    words = argv[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        for trapped, text in sorted(shell.traps.items()):
            await shell.process.write(f"trap -- '{text}' {SIGNAL_NAMES.get(trapped, 'EXIT')}\n")
        return 0
    # With a single word, or a number first, the signals are reset to their defaults.
    action = None if len(words) == 1 or words[0] == "-" or words[0].isdigit() else words[0]
    names = words if action is None and words[0] != "-" else words[1:]
    code = 0
    for name in names:
        number: int | None = EXIT_TRAP if name.upper() == "EXIT" else signal_number(name)
        if number is None:
            code = await _complain(shell, f"trap: {name}: invalid signal specification", 1)
            continue
        shell.set_trap(number, action)
    return code


@builtin("wait")
async def wait(shell: Shell, argv: list[str]) -> int:
    """Wait for jobs. A signal with a trap ends the wait immediately; its trap runs afterwards."""
    process = shell.process
    any_one = "-n" in argv
    wanted: list[Process] = []
    code = 0
    for word in argv[1:]:
        if word == "-n":
            continue
        job = shell.job(word)
        if job is None:
            code = 127
            continue
        wanted.append(job)
    chosen = wanted or list(shell.jobs.values())
    for job in chosen:
        job.waiters.append(process)
    while not process.pending:
        running = [job for job in chosen if job.status is None]
        if not running or (any_one and len(running) < len(chosen)):
            break
        await suspend()
    for job in chosen:
        if process in job.waiters:
            job.waiters.remove(process)
    if process.pending:
        return 128 + process.pending[0]
    ended = (
        next((job for job in chosen if job.status is not None), None) if any_one else (wanted[-1] if wanted else None)
    )
    shell.forget_ended_jobs()
    return ended.status.code if ended is not None and ended.status is not None else code


@builtin("jobs")
async def jobs(shell: Shell, argv: list[str]) -> int:
    for index, job in enumerate(shell.jobs.values(), 1):
        state = "Running" if job.status is None else "Done"
        await shell.process.write(f"{job.pid}\n" if "-p" in argv else f"[{index}]  {state}  {' '.join(job.argv)}\n")
    return 0


@builtin("fg")
async def foreground(shell: Shell, argv: list[str]) -> int:
    job = shell.job(argv[1] if len(argv) > 1 else "%+")
    return 1 if job is None else (await shell.process.wait_for(job)).code


@builtin("kill")
async def kill(shell: Shell, argv: list[str]) -> int:
    """Like the program `kill`, but jobs may be named `%1`."""
    words: list[str] = []
    for word in argv:
        job = shell.job(word) if word.startswith("%") else None
        words.append(word if job is None else str(job.pid))
    result = QUICK["kill"](shell.process, words)
    await emit(shell.process, result)
    return result.code
