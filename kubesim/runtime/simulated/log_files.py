"""The log files of a simulated node: their names and sizes. What is in them, the processes keep themselves.

A runtime writes a line of output with its time and stream in front; the kubelet rotates the files.
"""

from __future__ import annotations

from kubesim.shell.kernel.streams import LogLine

_PREFIX = len("2006-01-02T15:04:05.000000000Z stdout F ")
_COMPRESSION = 10


class SimulatedLogFiles:
    """Implements `LogFiles`."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def wrote(self, log: str, line: LogLine) -> None:
        self._sizes[log] = self._sizes.get(log, 0) + _PREFIX + len(line.text) + 1

    def size(self, log: str) -> int:
        return self._sizes.get(log, 0)

    def rotated(self, log: str) -> list[str]:
        return [name for name in self._sizes if name.startswith(log + ".")]

    def remove(self, file: str) -> None:
        self._sizes.pop(file, None)

    def compress(self, file: str) -> None:
        self._sizes[file + ".gz"] = self._sizes.pop(file) // _COMPRESSION

    def rename(self, file: str, new: str) -> None:
        self._sizes[new] = self._sizes.pop(file)

    def remove_directory(self, directory: str) -> None:
        for name in [name for name in self._sizes if name.startswith(directory + "/")]:
            del self._sizes[name]
