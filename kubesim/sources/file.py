"""The file source: a directory of manifests, each a static pod. Changes count at once; every 20 s all is read again.

What the source wants is kept by pod name, not by file: of two files with the same pod the one read last wins, and the
removal of either takes the pod away until the next reading of everything. Where the files are is another's matter
(`ManifestFiles`).

Mirrors: pkg/kubelet/config/file.go sourceFile, file_linux.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.concurrency import TaskSet, Ticker
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.sources.config import ConfigStream
from kubesim.sources.static_pod import Manifest, read_manifest
from kubesim.trace import Recorder
from kubesim.trace.records import Note

SOURCE = "file"
CHECK_PERIOD = 20 * SECOND


class ManifestFiles(Protocol):
    """A directory of manifests."""

    path: str

    def names(self) -> list[str]:
        """Of the regular files in it, sorted."""
        ...

    def read(self, name: str) -> str | None:
        """The text of a file; None if it is gone."""
        ...

    def watch(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Tell the name of every file that is written or removed from now on; the answer ends it."""
        ...


class FileSource:
    """`start` reads everything; `stop` ends the watch and the checks."""

    def __init__(
        self,
        clock: LoopClock,
        tasks: TaskSet,
        recorder: Recorder,
        config: ConfigStream,
        files: ManifestFiles,
        node_name: str,
        *,
        period: int = CHECK_PERIOD,
        every: bool = False,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._recorder = recorder
        self._config = config
        self._files = files
        self._node_name = node_name
        self._period = period
        self._every = every
        self._gates = gates
        self._store: dict[str, Pod] = {}  # namespace/name -> what is wanted
        self._key_of_file: dict[str, str] = {}
        self._problems: dict[str, str] = {}  # file -> what was last wrong with it
        self._ticker: Ticker | None = None
        self._checks: asyncio.Task[None] | None = None
        self._stop_watch: Callable[[], None] | None = None

    def start(self) -> None:
        self._ticker = Ticker(self._clock, "file check", self._period, phase=self._clock.now(), every=self._every)
        self._stop_watch = self._files.watch(self._file_changed)
        self._checks = self._tasks.start("file source", self._check(self._ticker))
        self._list()

    def stop(self) -> None:
        if self._stop_watch is not None and self._ticker is not None and self._checks is not None:
            self._stop_watch()
            self._ticker.stop()
            self._checks.cancel()
            self._stop_watch = None

    async def _check(self, ticker: Ticker) -> None:
        while True:
            await ticker.channel.receive(self._clock)
            self._recorder.because(None)
            self._list()

    def _list(self) -> None:
        """Read everything. An empty directory says that nothing is wanted, but does not empty the store."""
        pods = [pod for name in self._files.names() if not _is_hidden(name) and (pod := self._pod_in(name)) is not None]
        if not pods:
            self._config.snapshot(SOURCE, ())
            return
        self._store = {_key(pod): pod for pod in pods}
        self._tell()

    def _file_changed(self, name: str) -> None:
        """Here a change is heard in the same instant."""
        if not _is_hidden(name):
            self._clock.call_at(self._clock.now(), self._consume, name)
            if self._ticker is not None:
                self._ticker.want(self._clock.now())  # what the whole directory says may differ from what one file says

    def _consume(self, name: str) -> None:
        if self._stop_watch is None:
            return
        if self._files.read(name) is not None:
            pod = self._pod_in(name)
            if pod is not None:
                self._store[_key(pod)] = pod
                self._tell()
        elif (key := self._key_of_file.pop(name, None)) is not None and key in self._store:
            del self._store[key]
            self._tell()

    def _tell(self) -> None:
        self._config.snapshot(SOURCE, self._store.values())

    def _pod_in(self, name: str) -> Pod | None:
        """One manifest that cannot be used must not keep the others away."""
        text = self._files.read(name)
        if text is None:
            return None
        path = f"{self._files.path}/{name}"
        found = read_manifest(Manifest("file", path, self._node_name, text), self._gates)
        if not found.pods:
            self._tell_problem(name, found.error)
            return None
        self._problems.pop(name, None)
        pod = found.pods[0]
        self._key_of_file[name] = _key(pod)
        return pod

    def _tell_problem(self, name: str, problem: str) -> None:
        if self._problems.get(name) != problem:
            self._problems[name] = problem
            text = f"Could not process manifest file {self._files.path}/{name}: {problem}"
            self._recorder.record(Note(node=self._node_name, text=text))


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
