"""An interactive shell: prompts, runs each complete command, and continues after errors."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable

from kubesim.shell.builtin import ExitShell, LeaveLoop, ReturnFromFunction
from kubesim.shell.kernel.kernel import CannotFork
from kubesim.shell.kernel.signals import INT, Disposition
from kubesim.shell.language.arithmetic import ArithmeticFault
from kubesim.shell.language.expand import ExpansionFault
from kubesim.shell.language.parser import parse
from kubesim.shell.language.patterns import PatternTooLong
from kubesim.shell.language.syntax import Script
from kubesim.shell.state import ShellState

_INCOMPLETE = ("unexpected end of file", "unterminated quoted string")


def is_incomplete(script: Script) -> bool:
    """Whether more lines could complete the command."""
    return script.error.startswith(_INCOMPLETE)


def prompt(shell: ShellState) -> str:
    directory = shell.process.directory
    home = shell.variables.get("HOME", "/root")
    shown = "~" if posixpath.normpath(directory) == home else directory
    return f"{shown} {'#' if shell.process.kernel.user.uid == 0 else '$'} "


async def interact(shell: ShellState, run: Callable[[Script], Awaitable[int]]) -> int:
    """Run until `exit` or the end of the input; returns the exit code. `run` executes lines."""
    process, text = shell.process, ""
    process.dispositions = {**process.dispositions, INT: Disposition.CATCH}
    while True:
        await process.write("> " if text else prompt(shell), 2)
        line = await process.read_line(process.stream(0))
        if not line:
            return shell.status
        text += line
        script = parse(text)
        if is_incomplete(script):
            continue
        text = ""
        try:
            await run(script)
        except ExitShell as leaving:
            if not script.error:
                return leaving.code
            shell.status = leaving.code
        except (LeaveLoop, ReturnFromFunction):
            pass
        except (ExpansionFault, ArithmeticFault, PatternTooLong) as fault:
            shell.status = await _complain(shell, str(fault))
        except RecursionError:
            shell.status = await _complain(shell, "nested too deeply")
        except CannotFork:
            shell.status = await _complain(shell, "can't fork: Resource temporarily unavailable")


async def _complain(shell: ShellState, text: str) -> int:
    await shell.process.write(f"{shell.arg0}: {text}\n", 2)
    return 2
