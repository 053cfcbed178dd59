"""The programs available in a simulated container. Importing this package registers them."""

from kubesim.shell import archive
from kubesim.shell.programs import condition, filesystem, filters, machine, matching, network, system, text
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
    "machine",
    "matching",
    "network",
    "program_name",
    "system",
    "text",
]
