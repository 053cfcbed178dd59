"""Terminal output: control characters in external text (names, messages, plugins, API servers) are escaped.

JSON for programs is not escaped.
"""

from __future__ import annotations

import sys

from kubesim.golang.text import printable


def say(*lines: str) -> None:
    """Print lines to stdout with control characters escaped, except line breaks."""
    print(safe("\n".join(lines)))


def warn(text: str) -> None:
    """Print one line to stderr."""
    print(f"kubesim: {printable(text)}", file=sys.stderr, flush=True)


def safe(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
