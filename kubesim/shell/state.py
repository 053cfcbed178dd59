"""The state of a shell: variables, parameters, options, functions, traps, jobs.

The interpreter uses it; expansion and builtins read and change it. A subshell starts with a copy.
"""

from __future__ import annotations

import posixpath
from copy import copy as copy_object
from dataclasses import field
from itertools import islice
from typing import Self

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.signals import Disposition
from kubesim.shell.language.syntax import Command
from kubesim.shell.limits import LONG_TEXT, VARIABLE_LIMIT, VARIABLE_SIZE
from kubesim.values import part

EXIT_TRAP = 0

_JOB_LIMIT = 256
_OPTIONS = {
    "e": "errexit",
    "x": "xtrace",
    "u": "nounset",
    "pipefail": "pipefail",
    "errexit": "errexit",
    "xtrace": "xtrace",
    "nounset": "nounset",
}


@part
class ShellState:
    """The state of a shell process. `pid` stays that of the first process, like `$$` in a subshell."""

    process: Process
    arg0: str
    positional: list[str]
    pid: int = field(init=False)
    variables: dict[str, str] = field(init=False)
    exported: set[str] = field(init=False)
    functions: dict[str, Command] = field(default_factory=dict)
    local_frames: list[dict[str, str | None]] = field(default_factory=list)
    traps: dict[int, str] = field(default_factory=dict)
    jobs: dict[int, Process] = field(default_factory=dict)
    last_background: str = ""
    status: int = 0
    substitution_status: int = 0
    loops: int = 0
    depth: int = 0
    errexit: bool = False
    xtrace: bool = False
    nounset: bool = False
    pipefail: bool = False

    def __post_init__(self) -> None:
        self.pid = self.process.pid
        self.variables = {**self.process.environment, "IFS": " \t\n", "PWD": self.process.directory}
        self.exported = {*self.process.environment}

    def copy_for(self, process: Process) -> Self:
        """The initial state of a subshell in this process."""
        copy = copy_object(self)
        copy.process = process
        copy.variables = dict(self.variables)
        copy.exported = set(self.exported)
        copy.functions = dict(self.functions)
        copy.positional = list(self.positional)
        # only ignored signals stay ignored
        copy.traps = {number: text for number, text in self.traps.items() if not text}
        copy.jobs = {}
        copy.local_frames = []
        copy.loops = 0
        entries = len(self.variables) + len(self.positional)
        process.hold(VARIABLE_SIZE * entries)
        process.spend(entries // LONG_TEXT)
        return copy

    # Limits.

    def spend_on(self, text: str) -> None:
        self.process.spend_on(text)

    def claim(self, size: int) -> None:
        """Allocate this many characters."""
        if size > LONG_TEXT:
            self.process.kernel.claim_memory(size)

    # Variables.

    def parameter(self, name: str) -> str | None:
        value = self.variables.get(name)
        if value is not None:
            return value
        if name.isdigit():
            index = int(name)
            if index == 0:
                return self.arg0
            return self.positional[index - 1] if index <= len(self.positional) else None
        if name in ("@", "*"):
            return (self.variables.get("IFS", " ")[:1] if name == "*" else " ").join(self.positional)
        return self._special(name)

    def _special(self, name: str) -> str | None:
        if name == "?":
            return str(self.status)
        if name == "$":
            return str(self.pid)
        if name == "!":
            return self.last_background
        if name == "#":
            return str(len(self.positional))
        if name == "-":
            return "".join(letter for letter in "eux" if getattr(self, _OPTIONS[letter]))
        if name == "RANDOM":
            return str(self.process.kernel.random().randrange(32768))
        if name == "HOSTNAME":
            return self.process.kernel.network.hostname
        return "0" if name == "PPID" else None

    def assign(self, name: str, value: str) -> None:
        old = self.variables.get(name)
        if old is None:
            self.process.hold(VARIABLE_SIZE + len(name) + len(value))
        elif len(value) > LONG_TEXT or len(old) > LONG_TEXT:
            self.process.hold(len(value) - len(old))
        if len(value) > VARIABLE_LIMIT:
            self.process.kernel.kill_out_of_memory()
        self.variables[name] = value

    def release(self, name: str) -> None:
        """Free an unset variable."""
        old = self.variables.pop(name, None)
        if old is not None:
            self.process.hold(-(VARIABLE_SIZE + len(name) + len(old)))

    def restore_variable(self, name: str, old: str | None) -> None:
        """Restore the previous value of a variable; None unsets it."""
        if old is None:
            self.release(name)
        else:
            self.assign(name, old)

    def make_local(self, name: str) -> None:
        if self.local_frames:
            self.local_frames[-1].setdefault(name, self.variables.get(name))

    def environment(self) -> dict[str, str]:
        return {name: self.variables[name] for name in self.variables if name in self.exported}

    def set_option(self, name: str, on: bool) -> None:
        if name in _OPTIONS:
            setattr(self, _OPTIONS[name], on)

    def set_trap(self, number: int, action: str | None) -> None:
        """Set a trap. None restores the default, empty ignores the signal."""
        if action is None:
            self.traps.pop(number, None)
        else:
            self.traps[number] = action
        if number != EXIT_TRAP:
            others = {signal: kept for signal, kept in self.process.dispositions.items() if signal != number}
            if action is not None:
                others[number] = Disposition.CATCH if action else Disposition.IGNORE
            self.process.dispositions = others

    def matching_paths(self, pattern: str) -> list[str]:
        files, directory = self.process.kernel.files, self.process.directory
        if pattern.startswith("/"):
            return files.glob(pattern, self.process.spend)
        prefix = directory.rstrip("/") + "/"
        return [
            path.removeprefix(prefix) for path in files.glob(posixpath.join(directory, pattern), self.process.spend)
        ]

    # Jobs.

    def forget_ended_jobs(self) -> None:
        """Drop old ended jobs. They can be waited for by number, up to a limit."""
        ended = [pid for pid, job in self.jobs.items() if job.status is not None]
        for pid in islice(ended, max(0, len(ended) - _JOB_LIMIT)):
            del self.jobs[pid]

    def job(self, name: str) -> Process | None:
        """A job by its pid, or as `%1`, `%+`."""
        if name.isdigit():
            return self.jobs.get(int(name))
        index = int(name[1:]) if name[1:].isdigit() else len(self.jobs)
        return next(islice(self.jobs.values(), index - 1, index), None) if index > 0 else None
