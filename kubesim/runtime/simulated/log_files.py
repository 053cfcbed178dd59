"""Log files of a simulated node: names and sizes. The processes keep the contents.

A runtime prefixes each line with time and stream; the kubelet rotates the files. `ContainerOutput` sends all lines to
the trace and keeps the last lines of each pod for failure reports.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from kubesim.runtime.simulated.containers.container_process import ProcessContext
from kubesim.shell.kernel.streams import LogLine
from kubesim.trace import Recorder
from kubesim.trace.records import LogOutput
from kubesim.values import part

TAIL = 5  # lines
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


@part
class ContainerOutput:
    """The output of all containers of a cluster; `tails` are the last lines of each pod, with the container's name."""

    recorder: Recorder
    tails: dict[str, deque[tuple[str, str]]]

    def of(self, node: str, context: ProcessContext) -> Callable[[LogLine], None]:
        """The listener for one container's lines."""
        metadata = context.pod.metadata
        pod = f"{metadata.namespace}/{metadata.name}"
        return partial(self.wrote, node, pod, metadata.uid, context.container.name)

    def wrote(self, node: str, pod: str, uid: str, container: str, line: LogLine) -> None:
        """`pod` is its namespace and name."""
        tail = self.tails.get(pod)
        if tail is None:
            tail = self.tails[pod] = deque(maxlen=TAIL)
        tail.append((container, line.text))
        if self.recorder.on:
            self.recorder.record(
                LogOutput(node=node, pod=pod, uid=uid, container=container, stream=line.stream, text=line.text)
            )
