"""Go's texts for file errors: `open /x: no such file or directory`."""

from __future__ import annotations

import os


def describe_os_error(operation: str, error: OSError, path: str) -> str:
    return f"{operation} {path}: {errno_text(error)}"


def errno_text(error: OSError) -> str:
    """The text of an errno in Go's spelling, with a lower-case initial."""
    text = os.strerror(error.errno) if error.errno else str(error)
    return text[:1].lower() + text[1:]
