"""A small POSIX shell in virtual time: simulated containers run their own command line.

`ContainerProcess` is what a runtime uses; `VirtualFiles` and `Volume` are its files, `Ports` its network.
"""

from kubesim.runtime.simulated.shell.files import File, FileFault, VirtualFiles, Volume
from kubesim.runtime.simulated.shell.kernel import ExitStatus, Kernel, signal_number
from kubesim.runtime.simulated.shell.ports import (
    AddressInUse,
    HttpAnswer,
    HttpRequest,
    Listener,
    Network,
    PodNetwork,
    Ports,
)
from kubesim.runtime.simulated.shell.process import (
    ContainerProcess,
    ExecOutcome,
    ExecResult,
    NotFound,
    NotRunning,
    TimedOut,
    is_missing_program,
)
from kubesim.runtime.simulated.shell.streams import Log, LogLine

__all__ = [
    "AddressInUse",
    "ContainerProcess",
    "ExecOutcome",
    "ExecResult",
    "ExitStatus",
    "File",
    "FileFault",
    "HttpAnswer",
    "HttpRequest",
    "Kernel",
    "Listener",
    "Log",
    "LogLine",
    "Network",
    "NotFound",
    "NotRunning",
    "PodNetwork",
    "Ports",
    "TimedOut",
    "VirtualFiles",
    "Volume",
    "is_missing_program",
    "signal_number",
]
