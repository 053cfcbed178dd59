"""Text for a terminal: whatever comes from outside (names, messages, plugins, API servers) cannot drive it.

JSON is printed as it is, for programs.
"""

from __future__ import annotations

import sys

from kubesim.golang.text import printable


def say(*lines: str) -> None:
    """Print lines to stdout with control characters escaped; a line break within a line is kept."""
    print(safe("\n".join(lines)))


def warn(text: str) -> None:
    """Print one line to stderr."""
    print(f"kubesim: {printable(text)}", file=sys.stderr, flush=True)


def safe(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
