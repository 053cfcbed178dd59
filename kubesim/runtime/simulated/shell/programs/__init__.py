"""The programs that a simulated container knows: importing this package registers them all."""

from kubesim.runtime.simulated.shell.programs import condition, filesystem, filters, network, system, text
from kubesim.runtime.simulated.shell.programs.registry import PROGRAMS, QUICK, Result, execute, is_known, program_name

__all__ = [
    "PROGRAMS",
    "QUICK",
    "Result",
    "condition",
    "execute",
    "filesystem",
    "filters",
    "is_known",
    "network",
    "program_name",
    "system",
    "text",
]
