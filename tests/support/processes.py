"""Starts processes for tests, and finds their remains on a shared machine."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_numbers = itertools.count(1)


def kubesim(*words: str) -> list[str]:
    """The command line of `kubesim WORDS`."""
    return [sys.executable, "-m", "kubesim", *words]


def interruptible() -> None:
    """Let SIGINT interrupt this process and its children. A process started by nohup or in the background of a script
    inherits ignored SIGINT, which kubesim respects; tests that interrupt a child must undo it first.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(*words: str, **options: Any) -> subprocess.Popen[str]:
    """Start kubesim with pipes as standard streams, and unbuffered output."""
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        kubesim(*words),
        **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "env": environ, "text": True, **options},
        preexec_fn=interruptible,
    )


def unique_sleep() -> str:
    """A unique command line on this machine: `sleep` for more than an hour."""
    return f"sleep {4000 + next(_numbers)}.{os.getpid():07}{os.urandom(2).hex().translate(_DIGITS)}"


_DIGITS = str.maketrans("abcdef", "012345")


def running(command: str) -> list[int]:
    """The ids of all processes with this command line."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if _content(path) == wanted]


def wait_until_ended(command: str) -> None:
    """Wait until no process with this command line is left. A killed one needs a moment to disappear; the test's
    timeout catches others.
    """
    while running(command):
        time.sleep(0.01)


def children() -> set[int]:
    """The ids of this process's children, including zombies."""
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in _content(path).split()}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended
        return b""
