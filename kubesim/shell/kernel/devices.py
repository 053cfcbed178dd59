"""Opens paths: devices of a container, descriptors under /proc, and files."""

from __future__ import annotations

import posixpath
import re

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.streams import Endless, FileTarget, Stream, TextSource

_ENDLESS = frozenset({"/dev/zero", "/dev/random", "/dev/urandom"})
_DESCRIPTOR = re.compile(r"/(?:dev/fd|proc/(?P<pid>self|\d+)/fd)/(?P<number>\d+)\Z")
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def absolute(process: Process, path: str) -> str:
    """An absolute path, relative to the process's working directory."""
    return path if path.startswith("/") else posixpath.normpath(posixpath.join(process.directory, path))


def _device(process: Process, path: str) -> Stream | None:
    if not path.startswith(("/dev/", "/proc/")):
        return None
    if path in ("/dev/null", "/dev/tty"):
        return process.kernel.null
    if path in _ENDLESS:
        return Endless()
    if path in _STANDARD:
        return process.stream(_STANDARD[path])
    match = _DESCRIPTOR.match(path)
    if match is None:
        return None
    pid = match["pid"]
    owner = process if pid in (None, "self") else process.kernel.visible().get(int(pid))
    return None if owner is None else owner.stream(int(match["number"]))


def open_for_reading(process: Process, path: str) -> Stream:
    """Open a path for reading; `FileFault` if it does not exist."""
    path = absolute(process, path)
    device = _device(process, path)
    return device if device is not None else TextSource(process.kernel.files.open(path))


def open_for_writing(process: Process, path: str, *, append: bool) -> Stream:
    """Open a path for writing, created or truncated; `FileFault` if that fails."""
    path = absolute(process, path)
    device = _device(process, path)
    if device is not None:
        return device
    kernel = process.kernel
    file = kernel.files.create(path, kernel.clock.now(), truncate=not append)
    return FileTarget(file, kernel.files.locate(path)[0], kernel.clock.now)
