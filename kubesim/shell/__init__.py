"""A small POSIX shell in virtual time, which runs the command lines of simulated containers.

A runtime uses `ShellContainer`, with files from `VirtualFiles` and `Volume`, and the network from `Ports`.
"""

from kubesim.shell.kernel.files import File, FileFault, VirtualFiles, Volume
from kubesim.shell.kernel.kernel import ExitStatus, Kernel
from kubesim.shell.kernel.ports import (
    AddressInUse,
    HttpAnswer,
    HttpRequest,
    Listener,
    LoopbackNetwork,
    Ports,
    ShellNetwork,
)
from kubesim.shell.kernel.signals import signal_number
from kubesim.shell.kernel.streams import Log, LogLine
from kubesim.shell.process import (
    CommandNotFound,
    CommandResult,
    ExecOutcome,
    NotRunning,
    ShellContainer,
    TimedOut,
    is_missing_program,
)

__all__ = [
    "AddressInUse",
    "CommandNotFound",
    "CommandResult",
    "ExecOutcome",
    "ExitStatus",
    "File",
    "FileFault",
    "HttpAnswer",
    "HttpRequest",
    "Kernel",
    "Listener",
    "Log",
    "LogLine",
    "LoopbackNetwork",
    "NotRunning",
    "Ports",
    "ShellContainer",
    "ShellNetwork",
    "TimedOut",
    "VirtualFiles",
    "Volume",
    "is_missing_program",
    "signal_number",
]
