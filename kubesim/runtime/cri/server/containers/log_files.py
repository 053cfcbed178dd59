"""Logs of containers as files on this machine, in CRI's format: the time, the stream, `F` or `P`, the text.

A text without a line break is a part (`P`) of a line. The file is opened when the container starts, and again for
ReopenContainerLog, so that kubelets can rotate it. A file that cannot be written loses output, as with containerd.

Mirrors: containerd internal/cri/io/logger.go redirectLogs, logger_unix.go openLogFile
"""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from typing import NoReturn

from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.shell.kernel.streams import StreamName
from kubesim.shell.kernel.terminal import encode

MAX_LINE = 16 * 1024
_MODE = 0o640


class ContainerLog:
    """The log of one container; without a path it discards everything."""

    def __init__(self, path: str, clock: LoopClock) -> None:
        self._path = path
        self._clock = clock
        self._file = -1
        self._open_lines: dict[StreamName, bytes] = {}

    def open(self) -> None:
        """Raises RuntimeCallError."""
        if not self._path:
            return
        previous, self._file = self._file, _open(self._path)
        if previous >= 0:
            os.close(previous)

    def wrote(self, stream: StreamName, text: str) -> None:
        if self._file < 0:
            return
        *lines, rest = (self._open_lines.pop(stream, b"") + encode(text)).split(b"\n")
        entries = [entry for line in lines for entry in _entries(line, ends=True)]
        while len(rest) > MAX_LINE:
            entries.append((b"P", rest[:MAX_LINE]))
            rest = rest[MAX_LINE:]
        if rest:
            self._open_lines[stream] = rest
        self._write(stream, entries)

    def _write(self, stream: StreamName, entries: list[tuple[bytes, bytes]]) -> None:
        head = f"{_timestamp(self._clock.wall())} {stream} ".encode()
        data = b"".join(head + tag + b" " + text + b"\n" for tag, text in entries)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            pass

    def close(self) -> None:
        """The container has ended: what has no line break yet is a part of a line."""
        for stream, text in self._open_lines.items():
            self._write(stream, [(b"P", text)])
        self._open_lines.clear()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def log_path(directory: str, path: str) -> str:
    """The file of a container's log; empty if the message does not name both. Raises RuntimeCallError for a path that
    leaves the directory."""
    if not directory or not path:
        return ""
    whole = os.path.normpath(os.path.join(directory, path.lstrip("/")))
    base = os.path.normpath(directory)
    if not os.path.isabs(base) or not whole.startswith(base.rstrip("/") + "/"):
        raise RuntimeCallError(f'log path "{path}" is not below the log directory "{directory}"')
    return whole


def _entries(line: bytes, *, ends: bool) -> list[tuple[bytes, bytes]]:
    pieces = [line[start : start + MAX_LINE] for start in range(0, len(line), MAX_LINE)] or [b""]
    return [*((b"P", piece) for piece in pieces[:-1]), (b"F" if ends else b"P", pieces[-1])]


def _open(path: str) -> int:
    """Not through a symbolic link, and only a plain file: clients choose the path."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.open(path, flags, _MODE)
    except OSError as error:
        _refuse(path, (error.strerror or str(error)).lower())
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        _refuse(path, "not a regular file")
    return file


def _refuse(path: str, why: str) -> NoReturn:
    problem = f"failed to create container loggers: failed to create and open log file: open {path}: {why}"
    raise RuntimeCallError(f"failed to create containerd task: {problem}")


def _timestamp(micros: int) -> str:
    moment = datetime.fromtimestamp(micros // 1_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{micros % 1_000_000 * 1000:09d}Z"
