"""Logs of containers in CRI's format, one line each: time, stream, tags and text.

    2026-11-19T06:12:42.157582525Z stdout F hello

The tag P marks a part of a line that continues in the next one of that stream.
Mirrors: cri-client/pkg/logs logs.go parseCRILog, ReadLogs; pkg/kubelet/kuberuntime readLastStringFromContainerLogs
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kubesim.golang.file_errors import errno_text
from kubesim.values import value_object

MAX_LINES, MAX_BYTES = 80, 2048  # of a termination message that is taken from the log
_BLOCK = 1 << 16
_PARTIAL = b"P"


@value_object
class CriLogEntry:
    """`time` is RFC 3339 with nanoseconds; `text` ends with a newline unless the line continues."""

    time: str
    stream: str
    text: bytes


def parse_log(content: bytes) -> Iterator[CriLogEntry]:
    """Lines that are not in the format are left out, as an unfinished last one is."""
    for line in content.split(b"\n")[:-1]:
        parts = line.split(b" ", 3)
        if len(parts) == 4 and parts[1] in (b"stdout", b"stderr"):
            is_partial = _PARTIAL in parts[2].split(b":")
            text = parts[3] if is_partial else parts[3] + b"\n"
            yield CriLogEntry(parts[0].decode(errors="replace"), parts[1].decode(), text)


def last_output(path: str) -> str:
    """At most the last 80 lines, of those at most the last 2048 bytes."""
    try:
        content = _tail(path, MAX_LINES)
    except OSError as error:
        text = f"failed to try resolving symlinks in path {path!r}: lstat {path}: {errno_text(error)}"
        return f"Error on reading termination message from logs: {text}"
    return b"".join(entry.text for entry in parse_log(content))[-MAX_BYTES:].decode(errors="replace")


def _tail(path: str, lines: int) -> bytes:
    """The end of the file, with this many lines."""
    with open(path, "rb") as file:
        end = position = file.seek(0, os.SEEK_END)
        content = b""
        while position > 0 and content.count(b"\n") <= lines and end - position < MAX_LINES * _BLOCK:
            size = min(_BLOCK, position)
            position -= size
            file.seek(position)
            content = file.read(size) + content
    return b"\n".join(content.split(b"\n")[-lines - 1 :])
