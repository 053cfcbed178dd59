"""Follows the logs of real containers, and passes on each line that is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO

from kubesim.api.timestamps import MILLISECOND, parse_time
from kubesim.clock import LoopClock
from kubesim.runtime.cri.client.files.real_files import is_within
from kubesim.runtime.cri.client.logs.entries import CriLogEntry, parse_log
from kubesim.shell.kernel.streams import LogLine, StreamName
from kubesim.values import mutable

PERIOD = 200 * MILLISECOND

Wrote = Callable[[str, str, str, LogLine], None]  # namespace/name of the pod, its uid, the container, the line


@mutable(eq=False)
class _Followed:
    file: IO[bytes]
    rest: bytes = b""  # of a line that has no end yet
    parts: dict[str, bytes] | None = None  # of a long line of each stream

    def lines(self) -> Iterator[LogLine]:
        content = self.rest + self.file.read()
        end = content.rfind(b"\n") + 1
        self.rest = content[end:]
        yield from joined_lines(parse_log(content[:end]), self._open_parts())

    def _open_parts(self) -> dict[str, bytes]:
        if self.parts is None:
            self.parts = {}
        return self.parts


def joined_lines(entries: Iterator[CriLogEntry], parts: dict[str, bytes]) -> Iterator[LogLine]:
    """Whole lines; `parts` holds the beginning of a line of each stream from one call to the next."""
    for entry in entries:
        text = parts.pop(entry.stream, b"") + entry.text
        if not text.endswith(b"\n"):
            parts[entry.stream] = text
            continue
        try:
            time = parse_time(entry.time)
        except ValueError:
            continue
        stream: StreamName = "stderr" if entry.stream == "stderr" else "stdout"
        yield LogLine(time, stream, text[:-1].decode(errors="surrogateescape"))


class LogFollower:
    """`logs` is the log directory of a node."""

    def __init__(self, clock: LoopClock, logs: str, wrote: Wrote) -> None:
        self._clock = clock
        self._logs = logs
        self._wrote = wrote
        self._files: dict[str, _Followed] = {}

    async def run(self) -> None:
        while True:
            self.poll()
            await self._clock.sleep(PERIOD)

    def poll(self) -> None:
        found = set(self._paths())
        for path in [path for path in self._files if path not in found]:
            self._read(path)
            self._files.pop(path).file.close()
        for path in sorted(found):
            followed = self._files.get(path)
            if followed is not None and not _is_at(path, followed.file):  # it was rotated
                self._read(path)
                followed.file.close()
                followed = None
            if followed is None:
                try:
                    self._files[path] = _Followed(open(path, "rb"))  # noqa: SIM115 (closed when the log is gone)
                except OSError:
                    continue
            self._read(path)

    def close(self) -> None:
        """Pass on what was written last."""
        self.poll()
        for followed in self._files.values():
            followed.file.close()
        self._files.clear()

    def _paths(self) -> Iterator[str]:
        """NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log"""
        for pod in _names(self._logs):
            for container in _names(f"{self._logs}/{pod}"):
                directory = f"{self._logs}/{pod}/{container}"
                for name in _names(directory):
                    if name.endswith(".log") and is_within(self._logs, f"{directory}/{name}"):
                        yield f"{directory}/{name}"

    def _read(self, path: str) -> None:
        pod, container, _ = path.removeprefix(f"{self._logs}/").split("/")
        namespace, name, uid = pod.split("_") if pod.count("_") == 2 else ("", pod, "")
        for line in self._files[path].lines():
            self._wrote(f"{namespace}/{name}", uid, container, line)


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _is_at(path: str, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except OSError:
        return False
