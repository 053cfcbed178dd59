"""The programs that a simulated container knows: importing this package registers them all."""

from kubesim.shell import archive
from kubesim.shell.programs import condition, filesystem, filters, matching, network, system, text, users
from kubesim.shell.programs.registry import PROGRAMS, QUICK, ProgramResult, execute, is_known, program_name

__all__ = [
    "PROGRAMS",
    "QUICK",
    "ProgramResult",
    "archive",
    "condition",
    "execute",
    "filesystem",
    "filters",
    "is_known",
    "matching",
    "network",
    "program_name",
    "system",
    "text",
    "users",
]
