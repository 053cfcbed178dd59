"""Standard streams of a container's main process: its log, and a stdin to which a client may attach."""

from __future__ import annotations

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.signals import INT
from kubesim.shell.kernel.streams import LogTarget, Stream
from kubesim.shell.kernel.terminal import PipedInput, Terminal


def connect_to_log(process: Process) -> None:
    """Connect the standard streams of PID 1, as the runtime does."""
    kernel = process.kernel
    log = kernel.log
    if kernel.has_terminal:
        terminal = Terminal(lambda text: log.write("stdout", text), lambda: interrupt(process))
        kernel.input = terminal if kernel.stdin_open else None
        outputs: tuple[Stream, Stream] = (terminal.screen(), terminal.screen())
    else:
        kernel.input = PipedInput(idle=True) if kernel.stdin_open else None
        outputs = (LogTarget(log, "stdout"), LogTarget(log, "stderr"))
    stdin = kernel.null if kernel.input is None else kernel.input.stream
    process.streams = dict(enumerate(stream.hold() for stream in (stdin, *outputs)))


def interrupt(shell: Process) -> None:
    """Ctrl-C on a terminal: interrupts the shell's foreground command, else the program itself."""
    kernel = shell.kernel
    for process in [each for each in kernel.processes.values() if _descends(each, shell)] or [shell]:
        kernel.deliver(process, INT, outside=True)


def _descends(process: Process, other: Process) -> bool:
    parent = process.parent
    while parent is not None and parent is not other:
        parent = parent.parent
    return parent is not None
