"""How Go tells that something with a file went wrong: `open /x: no such file or directory`."""

from __future__ import annotations

import os


def describe_os_error(operation: str, error: OSError, path: str) -> str:
    return f"{operation} {path}: {errno_text(error)}"


def errno_text(error: OSError) -> str:
    """Go has the kernel's words with a small initial."""
    text = os.strerror(error.errno) if error.errno else str(error)
    return text[:1].lower() + text[1:]
