"""CPU time and memory of other processes, as the kernel accounts them."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def child_seconds(command: list[str]) -> float:
    """The CPU time of a child process."""
    before = children_seconds()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return children_seconds() - before


def children_seconds() -> float:
    """The CPU time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
